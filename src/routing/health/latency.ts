// The time to the first content of one target as a peak EWMA (after Finagle's load balancer): a slower sample counts at
// once, a faster one gradually, and a peak decays to the mean with a time constant of 10 s. The 95th percentile covers
// the last 128 samples.

export interface Latency {
  measuredAtMs: number;
  meanMs: number;
  peakMs: number;
  /** A ring buffer once it is full. */
  readonly samples: number[];
  next: number;
  sincePercentile: number;
  p95Ms: number | null;
}

const TIME_CONSTANT_MS = 10_000;
/** The least weight of a sample in the mean, however quickly samples follow one another. */
const LEAST_SHARE = 0.1;
const MAX_SAMPLES = 128;
const MIN_SAMPLES = 20;
/** Sorting for every sample would cost more than it improves the percentile. */
const PERCENTILE_EVERY = 8;

export function newLatency(firstMs: number, nowMs: number): Latency {
  return {
    measuredAtMs: nowMs,
    meanMs: firstMs,
    peakMs: firstMs,
    samples: [firstMs],
    next: 0,
    sincePercentile: 0,
    p95Ms: null,
  };
}

export function measure(latency: Latency, sampleMs: number, nowMs: number): void {
  const share = Math.max(LEAST_SHARE, 1 - remaining(latency, nowMs));
  const currentMs = latencyAt(latency, nowMs);
  latency.meanMs += share * (sampleMs - latency.meanMs);
  latency.peakMs = Math.max(sampleMs, currentMs + share * (sampleMs - currentMs));
  latency.measuredAtMs = Math.max(latency.measuredAtMs, nowMs);
  keep(latency, sampleMs);
}

export function latencyAt(latency: Latency, nowMs: number): number {
  return latency.meanMs + Math.max(0, latency.peakMs - latency.meanMs) * remaining(latency, nowMs);
}

/** Returns `null` with fewer samples than `least`. */
export function p95Of(latency: Latency, least = MIN_SAMPLES): number | null {
  if (latency.samples.length < least) return null;
  const every = latency.samples.length < MIN_SAMPLES ? 1 : PERCENTILE_EVERY;
  if (latency.p95Ms === null || latency.sincePercentile >= every) {
    const sorted = latency.samples.toSorted((a, b) => a - b);
    latency.p95Ms = sorted[Math.ceil(sorted.length * 0.95) - 1]!;
    latency.sincePercentile = 0;
  }
  return latency.p95Ms;
}

function remaining(latency: Latency, nowMs: number): number {
  return Math.exp(-Math.max(0, nowMs - latency.measuredAtMs) / TIME_CONSTANT_MS);
}

function keep(latency: Latency, sampleMs: number): void {
  if (latency.samples.length < MAX_SAMPLES) latency.samples.push(sampleMs);
  else {
    latency.samples[latency.next] = sampleMs;
    latency.next = (latency.next + 1) % MAX_SAMPLES;
  }
  latency.sincePercentile += 1;
}
