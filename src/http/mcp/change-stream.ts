// The stream on which clients of the protocol's versions before 2026-07-28 hear that their list of tools has changed: they
// open it with GET. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
import type { ListWatches, WatchedList } from "./list-watches.ts";

const KEEP_ALIVE_MS = 15_000;
/** Beyond this, a client does not read what it is sent. */
const MOST_UNREAD_BYTES = 64 * 1024;
const CHANGED = `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })}\n\n`;

/** Throws `gateway_overloaded`. */
export function changeStream(list: WatchedList, watches: ListWatches, signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let end = (): void => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const send = (text: string): void => {
          controller.enqueue(encoder.encode(text));
          if ((controller.desiredSize ?? 0) < -MOST_UNREAD_BYTES) close();
        };
        // its end would not be told any more
        if (signal.aborted) return controller.close();
        // this comes first, because it may refuse
        const stop = watches.watch(list, { changed: () => send(CHANGED), ended: () => close() });
        const keepAlive = setInterval(() => send(": keep-alive\n\n"), KEEP_ALIVE_MS);
        end = () => {
          clearInterval(keepAlive);
          stop();
        };
        const close = (): void => {
          end();
          controller.close();
        };
        signal.addEventListener("abort", end, { once: true });
        send(": follows the list of tools\n\n");
      },
      cancel: () => end(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  );
}
