// Ids of random bytes as lower-case hex digits. Random bytes are drawn and encoded in blocks, at a tenth of the cost of
// one draw for each id.

/** The digits of a trace id that are the time; the ones behind them are random. */
export const TRACE_TIME_DIGITS = 12;
const RANDOM_TRACE_DIGITS = 20;
const ID_DIGITS = 32;
const SPAN_DIGITS = 16;
const block = new Uint8Array(1024);
let digits = "";
let used = 0;

/**
 * The trace id of a call that began at this time, in milliseconds since 1970: 32 digits, the form of a W3C trace id.
 * The first 12 are the time, as in UUIDv7, so that calls are stored in the order of their ids. The other 20 are random,
 * more than the 14 that W3C asks for. https://www.w3.org/TR/trace-context-2/#random-trace-id-flag
 */
export function newTraceId(startedAtMs: number): string {
  return traceTimeOf(startedAtMs) + randomDigits(RANDOM_TRACE_DIGITS);
}

/** The digits of a time at the beginning of a trace id. */
export function traceTimeOf(startedAtMs: number): string {
  return Math.floor(startedAtMs).toString(16).padStart(TRACE_TIME_DIGITS, "0").slice(-TRACE_TIME_DIGITS);
}

/** 32 random digits, for what has no time. */
export function newRandomId(): string {
  return randomDigits(ID_DIGITS);
}

/** 16 random digits. */
export function newSpanId(): string {
  return randomDigits(SPAN_DIGITS);
}

function randomDigits(count: number): string {
  if (used + count > digits.length) {
    digits = crypto.getRandomValues(block).toHex();
    used = 0;
  }
  used += count;
  return digits.slice(used - count, used);
}
