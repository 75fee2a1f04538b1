// Reads a body to its end, within a bound.
import { UpstreamFault } from "./upstream.ts";
import type { UpstreamBody } from "./upstream.ts";

const DECODER = new TextDecoder();
const NOTHING = new Uint8Array(0);

export function tooLarge(maxBytes: number): UpstreamFault {
  return new UpstreamFault("too_large", `the provider's answer has more than ${maxBytes} bytes`);
}

/** Decodes UTF-8, drops a byte order mark, and replaces invalid bytes. */
export function decodeUtf8(bytes: Uint8Array): string {
  return DECODER.decode(bytes);
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
  return more === undefined ? (first ?? NOTHING) : Buffer.concat(more, length);
}
