// Reads the body of a request within the bounds of size and time (promise 5.6). If the request has a
// Content-Length, it is checked before anything is read; otherwise the bytes are counted as they arrive.

// Decides (the request): Which body is too large or too deep? By: `readBody` for its size. Also:
// `engine/request/bounded-body.ts` (`jsonBounds`, `beyondBound`) and `wire/json/json-scan.ts` for levels and members.
// Rule: 413 above `server.max_body_bytes`, which is 32 MiB by default; 400 `invalid_request` with the path otherwise.
// Decides (the request): May a client compress its body? By: `readBody`. Rule: No: any `content-encoding` but
// `identity` is 415 `unsupported_media_type`.
import { type MaybePromise, whenReady } from "../../core/maybe-promise.ts";
import { withTimeout } from "../../core/concurrency/timeout.ts";
import { GatewayError } from "../../core/errors.ts";
import type { ServerLimits } from "../../core/snapshot.ts";
import { joinedBytes } from "../../wire/body-bytes.ts";
import { GrowingBytes, LEAST_HELD_BYTES } from "../../core/concurrency/shared-bytes.ts";
import type { BytesHolder, HeldBytes } from "./held-bytes.ts";

export const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** Whose bodies may be long. */
export interface LongBodyCaller {
  /** The bytes of a long body count as held by it until the body has arrived. */
  readonly holder: BytesHolder;
  /** Called before a body is read that is long, or has no `content-length`. What it throws refuses the request. */
  admit(): MaybePromise<void>;
}

/** Who may send long bodies whatever their limits are. */
export function holderOf(tenantId: string, held: Pick<HeldBytes, "hold" | "release">): LongBodyCaller {
  return {
    holder: {
      hold: (bytes, bound) => held.hold(tenantId, bytes, bound),
      release: (bytes) => held.release(tenantId, bytes),
    },
    admit: () => undefined,
  };
}

/**
 * `caller` is `null` where bodies are always small. Throws `unsupported_media_type`, `body_too_large`, `body_timeout`,
 * `invalid_json`, `gateway_overloaded`, or what `caller` throws.
 */
export function readBody(
  request: Request,
  limits: ServerLimits,
  caller: LongBodyCaller | null = null,
): MaybePromise<Uint8Array> {
  const type = request.headers.get("content-type");
  if (type === null || !JSON_TYPE.test(type))
    throw new GatewayError(
      "unsupported_media_type",
      `The body must be JSON: send content-type: application/json${type === null ? "" : `; got ${JSON.stringify(type.slice(0, 100))}`}.`,
    );
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity")
    throw new GatewayError(
      "unsupported_media_type",
      `The body must be sent without content-encoding; got ${JSON.stringify(encoding.slice(0, 100))}.`,
    );
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > limits.maxBodyBytes) throw tooLarge(limits);
  if (caller === null || (length !== null && Number(length) < LEAST_HELD_BYTES))
    return readAdmitted(request, length, limits, null);
  return whenReady(caller.admit(), () => readAdmitted(request, length, limits, caller.holder));
}

/** `length` is the header's; `holder` is `null` where the body is short. */
function readAdmitted(
  request: Request,
  length: string | null,
  limits: ServerLimits,
  holder: BytesHolder | null,
): MaybePromise<Uint8Array> {
  const held = holder === null || length === null ? 0 : Number(length);
  if (held > 0) holder!.hold(held, limits);
  const reading = length === null ? readCounted(request, limits, holder) : request.bytes();
  // a small body has arrived with the head, so that no timer is needed
  if (held === 0 && Bun.peek.status(reading) === "fulfilled") return bounded(Bun.peek(reading) as Uint8Array, limits);
  const arriving = inTime(reading, limits);
  return held === 0 ? arriving : arriving.finally(() => holder!.release(held));
}

function bounded(bytes: Uint8Array, limits: ServerLimits): Uint8Array {
  if (bytes.length > limits.maxBodyBytes) throw tooLarge(limits);
  return bytes;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Throws `invalid_json`. */
export function bodyText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new GatewayError("invalid_json", "The body is not valid UTF-8.");
  }
}

async function readCounted(request: Request, limits: ServerLimits, holder: BytesHolder | null): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array(0);
  const parts: Uint8Array[] = [];
  let size = 0;
  const counted = new GrowingBytes((bytes) => holder?.hold(bytes, limits));
  try {
    for await (const part of request.body as AsyncIterable<Uint8Array>) {
      size += part.length;
      if (size > limits.maxBodyBytes) throw tooLarge(limits);
      counted.grownTo(size);
      parts.push(part);
    }
    return await joinedBytes(parts, size);
  } finally {
    holder?.release(counted.held);
  }
}

/** Bounds the time of a body that arrives slowly. */
async function inTime(reading: Promise<Uint8Array>, limits: ServerLimits): Promise<Uint8Array> {
  const { bodyTimeoutMs: timeoutMs } = limits;
  const late = (): GatewayError =>
    new GatewayError("body_timeout", `The body did not arrive within ${timeoutMs / 1000} s.`, {
      headers: { connection: "close" },
    });
  try {
    return bounded(await withTimeout(reading, timeoutMs, late), limits);
  } catch (thrown) {
    if (thrown instanceof GatewayError) throw thrown;
    throw new GatewayError("invalid_json", "The connection ended before the whole body arrived.", {
      headers: { connection: "close" },
      cause: thrown,
    });
  }
}

const MAX_DISCARDED_BYTES = 1_048_576;
const DISCARD_MS = 2000;

/** Whether the response was decided without reading the body. */
export function isUnread(request: Request): boolean {
  return !request.bodyUsed && request.body !== null;
}

/**
 * Returns the response to a request whose body is unread, after the body was read and discarded (promise 5.8): a
 * response on a connection that is closed while the client still sends would be lost. When the body has not ended after
 * 1 MiB or 2 s, the connection is closed after the response. The rest of a body that is too large is left to the
 * runtime, which discards it after the response for as long as the client sends. Never rejects.
 */
export async function afterUnread(request: Request, answer: Response): Promise<Response> {
  if (answer.status !== TOO_LARGE && !(await discardBody(request))) answer.headers.set("connection", "close");
  return answer;
}
const TOO_LARGE = 413;

/** Returns whether the body came to its end. */
async function discardBody(request: Request): Promise<boolean> {
  const reader = (request.body as ReadableStream<Uint8Array> | null)?.getReader();
  if (reader === undefined) return true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<null>((resolve) => (timer = setTimeout(resolve, DISCARD_MS, null)));
  let bytes = 0;
  try {
    for (;;) {
      const part = await Promise.race([reader.read(), over]);
      if (part === null) return false;
      if (part.done) return true;
      bytes += part.value.length;
      if (bytes > MAX_DISCARDED_BYTES) return false;
    }
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge(limits: ServerLimits): GatewayError {
  return new GatewayError("body_too_large", `The body may have at most ${limits.maxBodyBytes} bytes.`);
}
