// Reads a body to its end, within a bound, and joins what has come of it.
import { yieldToLoop } from "../core/concurrency/event-loop.ts";
import { UpstreamFault, type UpstreamBody } from "./upstream.ts";

const DECODER = new TextDecoder();
const NOTHING = new Uint8Array(0);
const READ_ON_MS = 1000;
/** New memory is slow to fill: 8 MiB of it take some 5 ms. */
const TURN_BYTES = 8 * 1024 * 1024;

export function tooLarge(maxBytes: number): UpstreamFault {
  return new UpstreamFault("too_large", `the provider's answer has more than ${maxBytes} bytes`);
}

/**
 * Reads what follows a complete answer, such as the end of the chunked framing, so that the connection can be used again.
 * The body is cancelled after a second. Never rejects.
 */
export async function readOn(body: Pick<UpstreamBody, "read" | "cancel">): Promise<void> {
  const timer = setTimeout(() => body.cancel(), READ_ON_MS);
  try {
    while ((await body.read()) !== null);
  } catch {
    // the answer is complete, so that it does not matter how the connection ends
  } finally {
    clearTimeout(timer);
  }
}

/** Decodes UTF-8, drops a byte order mark, and replaces invalid bytes. */
export function decodeUtf8(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
}

/** Joins the parts, above some megabytes in several turns of the event loop. */
export async function joinedBytes(parts: readonly Uint8Array[], length: number): Promise<Uint8Array> {
  if (length <= TURN_BYTES) return Buffer.concat(parts, length);
  const joined = new Uint8Array(length);
  let at = 0;
  let turnEnd = TURN_BYTES;
  for (const part of parts)
    for (let start = 0; start < part.length;) {
      const end = Math.min(part.length, start + turnEnd - at);
      joined.set(part.subarray(start, end), at);
      at += end - start;
      start = end;
      if (at < turnEnd) continue;
      turnEnd += TURN_BYTES;
      await yieldToLoop();
    }
  return joined;
}

/** Reads the whole body and decodes it: its connection is used again only when `decode` returns. */
export async function readDecoded<T>(
  body: Pick<UpstreamBody, "text" | "accept" | "cancel">,
  maxBytes: number,
  decode: (text: string) => T,
): Promise<T> {
  try {
    const decoded = decode(await body.text(maxBytes));
    body.accept();
    return decoded;
  } catch (thrown) {
    body.cancel();
    throw thrown;
  }
}

/** Reads the rest of the body. When the body exceeds the bound, calls `stop` with the fault and throws it. */
export async function readBytes(
  body: Pick<UpstreamBody, "read">,
  maxBytes: number,
  stop: (fault: UpstreamFault) => void,
  shouldContinue?: (bytes: number) => boolean,
): Promise<Uint8Array> {
  let first: Uint8Array | undefined = undefined;
  let more: Uint8Array[] | undefined = undefined;
  let length = 0;
  for (let bytes = await body.read(); bytes !== null; bytes = await body.read()) {
    length += bytes.length;
    if (length > maxBytes || shouldContinue?.(length) === false) {
      const fault = tooLarge(Math.min(length, maxBytes));
      stop(fault);
      throw fault;
    }
    if (first === undefined) first = bytes;
    else (more ??= [first]).push(bytes);
  }
  return more === undefined ? (first ?? NOTHING) : joinedBytes(more, length);
}

/** Returns a body of which all bytes have come. `source` is the body that they came from, if it is still open. */
export function arrivedBody(bytes: Uint8Array, source?: Pick<UpstreamBody, "accept" | "cancel">): UpstreamBody {
  let rest: Uint8Array | null = bytes;
  const body: UpstreamBody = {
    read() {
      const piece = rest;
      rest = null;
      return Promise.resolve(piece);
    },
    bytes: (maxBytes, shouldContinue) => readBytes(body, maxBytes, () => {}, shouldContinue),
    text: async (maxBytes) => decodeUtf8(await body.bytes(maxBytes)),
    accept: () => source?.accept(),
    cancel() {
      rest = null;
      source?.cancel();
    },
  };
  return body;
}
