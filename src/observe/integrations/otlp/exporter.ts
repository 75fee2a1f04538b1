// Exports to an OTLP receiver over HTTP, as protobuf. https://opentelemetry.io/docs/specs/otlp/#otlphttp
import type { Clock } from "../../../core/clock.ts";
import { VERSION } from "../../../core/version.ts";
import { post } from "../http-delivery.ts";

/** The list of the protocol; every other status must not be retried. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** This level reaches most of the compression in the least time. */
const GZIP_LEVEL = 1;

export interface PartialSuccess {
  /** The number of spans or points. */
  readonly rejected: number;
  readonly message: string;
}

export interface ExportTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly gzip: boolean;
}

/** Returns what the receiver rejected, or null when it accepted everything. Throws SinkFault. */
export async function exportTo(
  { url, headers, gzip }: ExportTarget,
  message: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
  clock: Pick<Clock, "now">,
): Promise<PartialSuccess | null> {
  // Both branches make a copy, because the body is read after the writer is reused.
  const body = gzip ? Bun.gzipSync(message, { level: GZIP_LEVEL }) : message.slice();
  const own = {
    "content-type": "application/x-protobuf",
    "user-agent": `dragoman/${VERSION}`,
    ...(gzip && { "content-encoding": "gzip" }),
  };
  const answer = await post(
    { url, headers: { ...headers, ...own }, body, isRetryable: (status) => RETRYABLE.has(status) },
    signal,
    clock,
  );
  return readPartialSuccess(answer);
}

const MAX_MESSAGE = 500;

/** A response that cannot be parsed is ignored: its status said that everything was accepted. */
export function readPartialSuccess(answer: Uint8Array): PartialSuccess | null {
  const partial = fieldOf(answer, 1);
  if (!(partial instanceof Uint8Array)) return null;
  const rejected = fieldOf(partial, 1);
  const message = fieldOf(partial, 2);
  if (typeof rejected !== "number" || rejected <= 0) return null;
  return {
    rejected,
    message: message instanceof Uint8Array ? new TextDecoder().decode(message).slice(0, MAX_MESSAGE) : "",
  };
}

/** The first varint or delimited field with that number, as far as the message can be read. */
function fieldOf(message: Uint8Array, field: number): Uint8Array | number | null {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; at < message.length; factor *= 128) {
      const byte = message[at++]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    at = message.length + 1;
    return 0;
  };
  while (at < message.length) {
    const tag = varint();
    const wireType = tag % 8;
    if (wireType !== 0 && wireType !== 2) return null;
    const value = varint();
    const isWanted = Math.floor(tag / 8) === field;
    if (wireType === 0) {
      if (isWanted && at <= message.length) return value;
      continue;
    }
    if (at + value > message.length) return null;
    if (isWanted) return message.subarray(at, at + value);
    at += value;
  }
  return null;
}
