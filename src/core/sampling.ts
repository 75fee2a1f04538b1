// Which calls belong to a sample. Trace ids are random, so their first digits serve as random numbers that are the same
// in all gateways and for all integrations.

/** `sample` is the share of calls, from 0 to 1. */
export function isSampled(traceId: string, sample: number): boolean {
  return sample >= 1 || Number.parseInt(traceId.slice(0, 8), 16) < sample * 2 ** 32;
}
