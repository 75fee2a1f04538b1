// HTTP posts of sinks: they follow no redirects, use no proxy of the environment, read only the beginning of the
// response, and throw a fault that says whether a retry can help.
import type { Clock } from "../../core/clock.ts";
import { retryAfterMs } from "../../wire/retry-after.ts";
import { type RefusedFor, SinkFault } from "./sink.ts";

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /**
   * Whether a request may be retried after this status, if the receiver's protocol defines it; otherwise the usual rule
   * applies.
   */
  readonly isRetryable?: (status: number) => boolean;
}

/** Bounds of the response: the rest is neither read nor waited for. */
const MAX_ANSWER_BYTES = 64 * 1024;
const ANSWER_MS = 1000;
/** Retryable statuses besides 5xx. RFC 9110 15.5, RFC 6585 4, RFC 8470 5.2 */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);

/** Refusals that another batch need not meet. RFC 9110 15.5.1, 15.5.14, 15.5.21 */
const REFUSED_FOR: ReadonlyMap<number, RefusedFor> = new Map([
  [400, "call"],
  [413, "size"],
  [422, "call"],
]);

const isTransient = (status: number): boolean => status >= 500 || TRANSIENT.has(status);

/** Returns the beginning of the response body if the status is 2xx. Throws SinkFault. */
export async function post(
  { url, headers, body, isRetryable = isTransient }: Post,
  signal: AbortSignal,
  clock: Pick<Clock, "now">,
): Promise<Uint8Array> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers,
      body,
      signal,
      redirect: "manual",
      proxy: false,
      decompress: false,
    } as BunFetchRequestInit);
  } catch (thrown) {
    throw asFault(thrown, signal);
  }
  const { status } = response;
  if (status < 200 || status > 299) {
    void response.body?.cancel().catch(() => {});
    const waitMs = retryAfterMs((name) => response.headers.get(name), clock.now());
    throw new SinkFault(
      status >= 300 && status < 400
        ? `the receiver answers ${status}, and redirects are not followed`
        : `the receiver answers ${status}`,
      { isRetryable: isRetryable(status), retryAfterMs: waitMs, refusedFor: REFUSED_FOR.get(status) ?? null },
    );
  }
  return await firstBytes(response);
}

/**
 * The status alone means that the batch was accepted: a receiver whose body never ends or breaks off does not get the
 * batch again.
 */
async function firstBytes(response: Response): Promise<Uint8Array> {
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader() as
    | ReadableStreamDefaultReader<Uint8Array>
    | undefined;
  if (reader === undefined) return new Uint8Array();
  const end = (): void => void reader.cancel().catch(() => {});
  const timer = setTimeout(end, ANSWER_MS);
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    while (size < MAX_ANSWER_BYTES) {
      const { done, value } = await reader.read();
      if (done) break;
      pieces.push(value);
      size += value.length;
    }
  } catch {
    // The beginning that was read is used.
  }
  clearTimeout(timer);
  if (size >= MAX_ANSWER_BYTES) end();
  return Buffer.concat(pieces).subarray(0, MAX_ANSWER_BYTES);
}

/** Messages of the runtime may contain the address, which may contain a key. */
function asFault(thrown: unknown, signal: AbortSignal): SinkFault {
  if (signal.aborted)
    return signal.reason instanceof SinkFault
      ? signal.reason
      : new SinkFault("no answer in time", { isRetryable: true });
  const { code } = (thrown ?? {}) as { readonly code?: unknown };
  return new SinkFault(`the receiver cannot be reached${typeof code === "string" ? ` (${code})` : ""}`, {
    isRetryable: true,
  });
}
