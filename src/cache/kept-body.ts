// The body of a cache entry: the provider's own response as it came, after decompression, with the headers of it that are
// read. It is decoded again for each call, so that everything that the gateway does with an answer is done by the rules of
// that call.
import { isObject, jsonIn } from "../core/json.ts";

const VERSION = 2;
const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

export interface KeptResponse {
  /** The type, and those with figures that the body lacks, by lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

const HEAD_AT = 3;
const MAX_HEAD = 0xffff;

/** Returns the version, the length of the headers, the headers, and the bytes of the response; `null` for odd headers. */
export function keptBody({ headers, bytes }: KeptResponse): Uint8Array | null {
  const head = ENCODER.encode(JSON.stringify(headers));
  if (head.length > MAX_HEAD) return null;
  const body = new Uint8Array(HEAD_AT + head.length + bytes.length);
  body.set([VERSION, head.length >> 8, head.length & 0xff]);
  body.set(head, HEAD_AT);
  body.set(bytes, HEAD_AT + head.length);
  return body;
}

/** Returns `null` for bytes that `keptBody` has not made. */
export function readKeptBody(body: Uint8Array): KeptResponse | null {
  const [version, high = 0, low = 0] = body;
  const bytesAt = HEAD_AT + high * 256 + low;
  if (version !== VERSION || body.length < bytesAt) return null;
  const headers = jsonIn(DECODER.decode(body.subarray(HEAD_AT, bytesAt)));
  return isObject(headers) ? { headers: headers as KeptResponse["headers"], bytes: body.subarray(bytesAt) } : null;
}
