// The body of a cache entry: the provider's own response as it came, after decompression, with its type. It is decoded
// again for each call, so that everything that the gateway does with an answer is done by the rules of that call.
const VERSION = 1;
const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

export interface KeptResponse {
  /** The header `content-type`; `null` when there was none. */
  readonly contentType: string | null;
  readonly bytes: Uint8Array;
}

const MAX_TYPE = 255;

/** Returns the version, the length of the type, the type, and the bytes of the response; `null` for an odd type. */
export function keptBody({ contentType, bytes }: KeptResponse): Uint8Array | null {
  const type = ENCODER.encode(contentType ?? "");
  if (type.length > MAX_TYPE) return null;
  const body = new Uint8Array(2 + type.length + bytes.length);
  body[0] = VERSION;
  body[1] = type.length;
  body.set(type, 2);
  body.set(bytes, 2 + type.length);
  return body;
}

/** Returns `null` for bytes that `keptBody` has not made. */
export function readKeptBody(body: Uint8Array): KeptResponse | null {
  const typeLength = body[1];
  if (body[0] !== VERSION || typeLength === undefined || body.length < 2 + typeLength) return null;
  const type = DECODER.decode(body.subarray(2, 2 + typeLength));
  return { contentType: type === "" ? null : type, bytes: body.subarray(2 + typeLength) };
}
