// Exports to a receiver of OpenTelemetry's protocol over HTTP, as protobuf. https://opentelemetry.io/docs/specs/otlp/#otlphttp
import type { Clock } from "../../../core/clock.ts";
import { VERSION } from "../../../core/version.ts";
import { post } from "../http-delivery.ts";

/** The protocol's own list; everything else is not to be tried again. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Most of what there is to gain, for the least time. */
const GZIP_LEVEL = 1;

export interface PartialSuccess {
  /** Spans or points. */
  readonly rejected: number;
  readonly message: string;
}

export interface ExportTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly gzip: boolean;
}

/** Gives what the receiver says that it did not take; null: it took all. Throws SinkFault. */
export async function exportTo(
  { url, headers, gzip }: ExportTarget,
  message: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
  clock: Pick<Clock, "now">,
): Promise<PartialSuccess | null> {
  // a copy either way: what is sent is read later
  const body = gzip ? Bun.gzipSync(message, { level: GZIP_LEVEL }) : message.slice();
  const own = {
    "content-type": "application/x-protobuf",
    "user-agent": `dragoman/${VERSION}`,
    ...(gzip && { "content-encoding": "gzip" }),
  };
  const taken = await post(
    { url, headers: { ...headers, ...own }, body, isRetryable: (status) => RETRYABLE.has(status) },
    signal,
    clock,
  );
  return readPartialSuccess(taken.body);
}

const MAX_MESSAGE = 500;

/** Of what is no such answer nothing is read: the status said that all was taken. */
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

/** The first varint or delimited field of that number, as far as the message can be read. */
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
