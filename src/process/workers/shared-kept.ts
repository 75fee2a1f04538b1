// What operations keep of calls, for all workers of a machine: the supervisor has it in its memory, sealed as the workers
// have sent it.
import { KEEPING_BOUNDS, type KeepingBounds, type KeptStore } from "../../engine/keeping/kept-store.ts";
import { isPending } from "../../core/maybe-promise.ts";
import { LATE, within } from "../../core/concurrency/timeout.ts";
import type { SupervisorChannel, WorkerChannel } from "./messages.ts";

const ANSWER_MS = 1000;

/** In the supervisor. */
export function serveKept(channel: WorkerChannel, store: KeptStore<Uint8Array>): void {
  channel.handle("keep_object", ({ tenantId, projectId, ids }, bytes) =>
    // the bytes are a part of a frame, which would be held as a whole
    store.keep({ tenantId, projectId, ids, value: bytes.slice(), size: () => bytes.length }),
  );
  channel.handle("find_object", async ({ tenantId, id }) => {
    const finding = store.find(tenantId, id);
    const found = isPending(finding) ? await finding : finding;
    return found === null
      ? { body: null, bytes: NONE }
      : { body: { ids: found.ids, untilMs: found.untilMs }, bytes: found.value };
  });
  channel.handle("remove_object", ({ tenantId, id }) => store.remove(tenantId, id));
  channel.handle("remove_all_objects", ({ tenantId, projectId }) => store.removeAll(tenantId, projectId));
}

const NONE = new Uint8Array(0);

/** In a worker. */
export function openWorkerKept(
  channel: SupervisorChannel,
  nowMs: () => number,
  { lifetimeMs, objectBytes }: KeepingBounds = KEEPING_BOUNDS,
): KeptStore<Uint8Array> {
  const answered = async <Reply>(reply: Promise<Reply>): Promise<Reply> => {
    const value = await within(reply, ANSWER_MS);
    if (value === LATE) throw new Error("the supervisor does not answer");
    return value;
  };
  return {
    isAway: false,
    get untilMs() {
      return nowMs() + lifetimeMs;
    },
    keep: ({ tenantId, projectId, ids, value }) =>
      value.length > objectBytes
        ? false
        : answered(channel.request("keep_object", { tenantId, projectId, ids }, value)),
    async find(tenantId, id) {
      const { body, bytes } = await answered(channel.requestBytes("find_object", { tenantId, id }));
      return body === null ? null : { ...body, value: bytes };
    },
    async remove(tenantId, id) {
      await answered(channel.request("remove_object", { tenantId, id }));
    },
    async removeAll(tenantId, projectId) {
      await answered(channel.request("remove_all_objects", { tenantId, projectId }));
    },
    close: () => {},
  };
}
