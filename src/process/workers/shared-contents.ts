// Contents of calls that tenants keep: workers encrypt them, and the supervisor writes them to the database. What waits of a
// place whose content is removed is forgotten by all workers first.
import type { ContentLog } from "../../observe/content-log.ts";
import type { StoredContent } from "../../store/calls/calls.ts";
import type { ContentWriter } from "../../store/calls/content-store.ts";
import type { SupervisorChannel, WorkerChannel } from "./messages.ts";

/** A worker that hangs must not delay a removal for longer. */
const FORGET_MS = 2000;

/** In the supervisor. `everyWorker` gives the channels of all workers that run. */
export function serveContents(
  channel: WorkerChannel,
  calls: ContentWriter,
  everyWorker: () => readonly WorkerChannel[],
): void {
  channel.handle("content_key", ({ tenantId, encryptedKey }) => calls.contentKey(tenantId, encryptedKey));
  channel.handle("contents", ({ contents, keys }, bytes) => {
    let offset = 0;
    return calls.keepContents(
      contents.map(({ bytes: length, ...content }): StoredContent => ({
        ...content,
        body: bytes.subarray(offset, (offset += length)),
      })),
      keys,
    );
  });
  channel.handle("forget_content", async (place) => {
    await Promise.all(everyWorker().map((worker) => worker.requestWithin(FORGET_MS, "forget_content", place)));
  });
}

/** In a worker: how its contents are written. */
export function contentWriter(channel: SupervisorChannel): ContentWriter {
  return {
    contentKey: (tenantId, encryptedKey) => channel.request("content_key", { tenantId, encryptedKey }),
    keepContents: (contents, keys) =>
      channel.request(
        "contents",
        { contents: contents.map(({ body, ...content }) => ({ ...content, bytes: body.length })), keys },
        Buffer.concat(contents.map(({ body }) => body)),
      ),
  };
}

/** In a worker: its content log, whose `forget` is for all workers. */
export function workerContentLog(channel: SupervisorChannel, own: ContentLog): ContentLog {
  channel.handle("forget_content", (place) => own.forget(place));
  return {
    ...own,
    async forget(place) {
      await channel.request("forget_content", place);
    },
  };
}
