// Which calls belong to a sample. Behind the time with which a trace id begins (ids.ts) its digits are random, so they
// serve as random numbers that are the same in all gateways and for all integrations. These digits are others than
// those that choose traces (trace.ts), so that a sample of the kept traces is a sample of all calls.
import { TRACE_TIME_DIGITS } from "../ids.ts";

const DIGITS = 6;

/** `sample` is the share of calls, from 0 to 1. */
export function isSampled(traceId: string, sample: number): boolean {
  return (
    sample >= 1 ||
    Number.parseInt(traceId.slice(TRACE_TIME_DIGITS, TRACE_TIME_DIGITS + DIGITS), 16) < sample * 16 ** DIGITS
  );
}
