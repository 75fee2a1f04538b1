// Counters and histograms that are kept as sums and exported at intervals, and their protobuf form.
// https://opentelemetry.io/docs/specs/otel/metrics/data-model/
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto
import type { ProtobufWriter } from "../../../wire/protobuf.ts";
import { type Attributes, writeAttributes } from "./attributes.ts";
import { encodeExport } from "./span.ts";

export interface Instrument {
  readonly name: string;
  readonly description: string;
  /** https://ucum.org */
  readonly unit: string;
  /** Upper bounds of a histogram's buckets; `null` for a counter. */
  readonly bounds: readonly number[] | null;
}

/** `cumulative` exports everything since the start, `delta` everything since the last export. */
export type Temporality = "cumulative" | "delta";

type Point = ReturnType<typeof newPoint>;

const newPoint = (attributes: Attributes, bounds: Instrument["bounds"]) => ({
  attributes,
  sum: 0,
  /** Used by histograms only, with the fields below. */
  count: 0,
  min: Number.POSITIVE_INFINITY,
  max: Number.NEGATIVE_INFINITY,
  buckets: bounds === null ? [] : Array.from({ length: bounds.length + 1 }, () => 0),
});

type Points = Map<string, Point>;

/** What the calls of one tenant count. */
export interface Counting {
  /** `key` identifies the series of an instrument; its attributes are made only when the series is new. */
  add(instrument: Instrument, key: string, value: number, attributes: () => Attributes): void;
}

export interface Collected {
  readonly startMs: number;
  /** As in MetricSums. */
  readonly added: ReadonlyMap<string, number>;
  readonly points: ReadonlyMap<Instrument, Points>;
}

/**
 * Series of one metric that the calls of one tenant may add: OpenTelemetry's own default. Beyond it all further series are
 * combined into one.
 */
const MAX_SERIES_OF_TENANT = 2000;
/** All series of one metric, so that one tenant cannot take the room of the others. */
const MAX_SERIES = 2 * MAX_SERIES_OF_TENANT;
const OVERFLOW: Attributes = { "otel.metric.overflow": true };
const OVERFLOW_KEY = "overflow";

export class MetricSums {
  readonly #temporality: Temporality;
  #startMs: number;
  #points = new Map<Instrument, Points>();
  /** The number of series by the instrument and the tenant whose calls have added them. */
  #added = new Map<string, number>();

  constructor(temporality: Temporality, nowMs: number) {
    this.#temporality = temporality;
    this.#startMs = nowMs;
  }

  /** `tenantId` is `null` for calls of no tenant. */
  of(tenantId: string | null): Counting {
    return {
      add: (instrument, key, value, attributes) => {
        const point = this.#point(instrument, key, attributes, tenantId);
        point.sum += value;
        if (instrument.bounds === null) return;
        point.count += 1;
        if (value < point.min) point.min = value;
        if (value > point.max) point.max = value;
        point.buckets[bucketOf(value, instrument.bounds)]! += 1;
      },
    };
  }

  /** `tenantId` is left out for a series that has counted before. */
  #point(instrument: Instrument, key: string, attributes: () => Attributes, tenantId?: string | null): Point {
    const points = this.#points.getOrInsertComputed(instrument, (): Points => new Map());
    const known = points.get(key);
    if (known !== undefined) return known;
    if (key !== OVERFLOW_KEY && (points.size >= MAX_SERIES || !this.#mayAdd(instrument, tenantId)))
      return this.#point(instrument, OVERFLOW_KEY, () => OVERFLOW);
    const point = newPoint(attributes(), instrument.bounds);
    points.set(key, point);
    return point;
  }

  /** Whether the calls of the tenant may add a series. */
  #mayAdd({ name }: Instrument, tenantId: string | null | undefined): boolean {
    if (tenantId === undefined) return true;
    const place = JSON.stringify([name, tenantId]);
    const added = this.#added.get(place) ?? 0;
    if (added >= MAX_SERIES_OF_TENANT) return false;
    this.#added.set(place, added + 1);
    return true;
  }

  /** Returns what has to be exported now. */
  collect(nowMs: number): Collected {
    const collected: Collected = { startMs: this.#startMs, added: this.#added, points: this.#points };
    if (this.#temporality === "delta") {
      this.#points = new Map();
      this.#added = new Map();
      this.#startMs = nowMs;
    }
    return collected;
  }

  /** Puts back what could not be exported, so that the next export includes it. */
  restore(collected: Collected): void {
    if (this.#temporality === "cumulative") return;
    this.#startMs = collected.startMs;
    for (const [place, added] of collected.added) this.#added.set(place, Math.max(added, this.#added.get(place) ?? 0));
    for (const [instrument, points] of collected.points)
      for (const [key, point] of points)
        merge(
          this.#point(instrument, key, () => point.attributes),
          point,
        );
  }
}

function merge(into: Point, from: Point): void {
  into.sum += from.sum;
  into.count += from.count;
  into.min = Math.min(into.min, from.min);
  into.max = Math.max(into.max, from.max);
  for (const [index, count] of from.buckets.entries()) into.buckets[index]! += count;
}

/** A value equal to a bound belongs to the bucket below it. */
function bucketOf(value: number, bounds: readonly number[]): number {
  let index = 0;
  while (index < bounds.length && value > bounds[index]!) index += 1;
  return index;
}

/** The bytes are valid until the next write. Null when nothing has been counted. */
export function encodeMetrics(
  writer: ProtobufWriter,
  exporter: Attributes,
  { startMs, points }: Collected,
  temporality: Temporality,
  nowMs: number,
): Uint8Array<ArrayBuffer> | null {
  if (points.size === 0) return null;
  // where the clock was set back, no interval ends before it begins
  const interval = { startMs, nowMs: Math.max(startMs, nowMs), temporality };
  return encodeExport(writer, exporter, () => {
    for (const [instrument, series] of points) writeMetric(writer, instrument, series.values(), interval);
  });
}

interface Interval {
  readonly startMs: number;
  readonly nowMs: number;
  readonly temporality: Temporality;
}

const TEMPORALITIES = { delta: 1, cumulative: 2 } as const;
const SUM = 7;
const HISTOGRAM = 9;

function writeMetric(
  writer: ProtobufWriter,
  instrument: Instrument,
  points: Iterable<Point>,
  interval: Interval,
): void {
  const { name, description, unit, bounds } = instrument;
  const metric = writer.begin(2);
  writer.text(1, name);
  writer.text(2, description);
  writer.text(3, unit);
  const data = writer.begin(bounds === null ? SUM : HISTOGRAM);
  for (const point of points) {
    const start = writer.begin(1);
    if (bounds === null) writeNumber(writer, point, interval);
    else writeHistogram(writer, point, bounds, interval);
    writer.end(start);
  }
  writer.integer(2, TEMPORALITIES[interval.temporality]);
  if (bounds === null) writer.boolean(3, true);
  writer.end(data);
  writer.end(metric);
}

function writeNumber(writer: ProtobufWriter, { attributes, sum }: Point, { startMs, nowMs }: Interval): void {
  writer.nanoseconds(2, startMs);
  writer.nanoseconds(3, nowMs);
  writer.fixed64(6, sum);
  writeAttributes(writer, 7, attributes);
}

function writeHistogram(
  writer: ProtobufWriter,
  { attributes, sum, count, min, max, buckets }: Point,
  bounds: readonly number[],
  { startMs, nowMs }: Interval,
): void {
  writer.nanoseconds(2, startMs);
  writer.nanoseconds(3, nowMs);
  writer.fixed64(4, count);
  writer.double(5, sum);
  writer.packedFixed64(6, buckets);
  writer.packedDouble(7, bounds);
  writeAttributes(writer, 9, attributes);
  writer.double(11, min);
  writer.double(12, max);
}
