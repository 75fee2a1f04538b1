// The buckets of a histogram: how wide they are, and at which times they begin and end.
import { midnightsBetween, offsetsBetween } from "../../../core/configured/time-zone.ts";
import { invalidRequest } from "../../../core/refusals.ts";
import { MOST_BUCKETS } from "../../../store/search/call-histogram.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const WIDTHS = {
  "1m": MINUTE_MS,
  "5m": 5 * MINUTE_MS,
  "15m": 15 * MINUTE_MS,
  "1h": HOUR_MS,
  "6h": 6 * HOUR_MS,
  "1d": DAY_MS,
} as const;
export type BucketWidth = keyof typeof WIDTHS;
export const BUCKET_WIDTHS = Object.keys(WIDTHS) as readonly BucketWidth[] as readonly [BucketWidth, ...BucketWidth[]];

/** The width that gives some hundred buckets; sums have no less than hours. */
const FITTING: readonly (readonly [uptoMs: number, width: BucketWidth])[] = [
  [2 * HOUR_MS, "1m"],
  [12 * HOUR_MS, "5m"],
  [8 * DAY_MS, "1h"],
  [40 * DAY_MS, "6h"],
];

interface BucketQuery {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly bucket: BucketWidth | "auto";
  readonly timezone: string;
}

export interface Buckets {
  readonly width: BucketWidth;
  /** The beginnings of the buckets, and the end of the last one. */
  readonly edges: readonly number[];
}

/**
 * The last 24 hours, if nothing is asked for. Buckets of an hour and less begin at full hours of UTC and fractions of
 * them; longer ones at local midnight and every six hours after it. Throws `invalid_request`.
 */
export function bucketsOf({ from, to, bucket, timezone }: BucketQuery, nowMs: number): Buckets {
  const given = bucket === "auto" ? HOUR_MS : Math.min(WIDTHS[bucket], HOUR_MS);
  const toMs = to ?? Math.floor(nowMs / given) * given + given;
  const fromMs = from ?? (to === undefined ? toMs : Math.ceil(toMs / given) * given) - DAY_MS;
  if (fromMs >= toMs) throw invalidRequest("from", "from has to be before to.");
  const width = bucket === "auto" ? (FITTING.find(([uptoMs]) => toMs - fromMs <= uptoMs)?.[1] ?? "1d") : bucket;
  if ((toMs - fromMs) / WIDTHS[width] > MOST_BUCKETS - 2)
    throw invalidRequest(
      "bucket",
      `From ${new Date(fromMs).toISOString()} to ${new Date(toMs).toISOString()} there are more than ${MOST_BUCKETS} buckets of ${width}. Choose a larger bucket, or a shorter time.`,
    );
  return { width, edges: [fromMs, ...innerEdges(fromMs, toMs, WIDTHS[width], timezone), toMs] };
}

/** Of a range whose calls are all in its last part: so small a part has few bars to show. */
const SMALL_PART = 1 / 4;

/**
 * The buckets from the first one with calls on, `begin` among `shown`, where they are narrower; `null` where most of
 * what is shown has calls already, or nothing narrower is to be had.
 */
function narrowedTo(asked: BucketQuery, shown: Buckets, begin: number, nowMs: number): Buckets | null {
  const { edges } = shown;
  const part = (edges.length - 1 - begin) / (edges.length - 1);
  if (begin < 0 || asked.bucket !== "auto" || part > SMALL_PART) return null;
  const next = bucketsOf({ ...asked, from: edges[begin]!, to: edges.at(-1)! }, nowMs);
  return next.width === shown.width ? null : next;
}

interface CountedBuckets extends Buckets {
  readonly buckets: readonly { readonly calls: bigint }[];
  /** Calls before this time are not counted; `null` if all are. */
  readonly searchedToMs: number | null;
}

/**
 * Reads again, as long as most of the time is before the first call that is counted. Where calls of the time that is left
 * out have not been counted, `searchedToMs` still says so.
 */
export async function narrowest<Read extends CountedBuckets>(
  asked: BucketQuery,
  first: Read,
  nowMs: number,
  read: (wanted: Buckets) => Promise<Read>,
): Promise<Read> {
  let found = first;
  for (;;) {
    const begin = found.buckets.findIndex(({ calls }) => calls > 0n);
    const narrower = narrowedTo(asked, found, begin, nowMs);
    if (narrower === null) return found;
    const { searchedToMs } = found;
    found = await read(narrower);
    if (searchedToMs !== null && found.searchedToMs === null) found = { ...found, searchedToMs: narrower.edges[0]! };
  }
}

function innerEdges(fromMs: number, toMs: number, widthMs: number, timezone: string): readonly number[] {
  if (widthMs <= HOUR_MS) return multiples(Math.floor(fromMs / widthMs) * widthMs, widthMs, fromMs, toMs);
  const offsets = offsetsBetween(timezone, fromMs - DAY_MS, toMs + DAY_MS);
  const midnights = midnightsBetween(offsets, fromMs - DAY_MS, toMs + DAY_MS);
  return midnights.flatMap((midnight, index) =>
    multiples(midnight, widthMs, fromMs, Math.min(toMs, midnights[index + 1] ?? toMs)),
  );
}

/** From `firstMs` on, within both bounds, of which the lower one is exclusive. */
function multiples(firstMs: number, widthMs: number, fromMs: number, toMs: number): readonly number[] {
  const edges: number[] = [];
  for (let atMs = firstMs; atMs < toMs; atMs += widthMs) if (atMs > fromMs) edges.push(atMs);
  return edges;
}
