// The body of a non-streaming answer as the server sends it.
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";

/** Bun copies a body as soon as it is part of a response: 8 MiB take some 5 ms. */
const WHOLE_BYTES = 8 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;

/**
 * Returns a long body as a stream of pieces, each of which is copied in a turn of its own, and every other as it is. The
 * length of a stream is not in the head of the response: it is sent in chunks.
 */
export function answerBody(body: string | Uint8Array): string | Uint8Array | ReadableStream<Uint8Array> {
  return typeof body === "string" || body.length <= WHOLE_BYTES ? body : inPieces(body);
}

function inPieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (sent > 0) await yieldToLoop();
        if (sent >= bytes.length) return controller.close();
        controller.enqueue(bytes.subarray(sent, sent + PIECE_BYTES));
        sent += PIECE_BYTES;
      },
    },
    { highWaterMark: 0 },
  );
}
