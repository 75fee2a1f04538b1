// Decodes exports of traces and metrics: the wire format of Protocol Buffers, read by tables of the published messages. A field that the tables do not have, or a wire
// type that is not the field's, is an error. https://github.com/open-telemetry/opentelemetry-proto/tree/main/opentelemetry/proto
import { ProtobufWriter } from "../../../src/wire/protobuf.ts";
import { type EncodedSpan, type Span, writeSpanFields } from "../../../src/observe/integrations/otlp/span.ts";

/** A span of a test's own, as the encoder of exports takes it. */
export function encodedSpan(span: Span): EncodedSpan {
  const writer = new ProtobufWriter();
  writeSpanFields(writer, span);
  return { fields: writer.bytes(), more: [] };
}

export interface ReceivedSpan {
  readonly resource: Record<string, unknown>;
  readonly scope: { readonly name: string; readonly version: string };
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: none. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: string;
  readonly startNano: bigint;
  readonly endNano: bigint;
  readonly attributes: Record<string, unknown>;
  readonly status: { readonly code: string; readonly message: string };
  readonly flags: number;
}

export interface ReceivedPoint {
  readonly attributes: Record<string, unknown>;
  readonly startNano: bigint;
  readonly timeNano: bigint;
  /** Of a counter. */
  readonly value?: bigint | number;
  /** Of a histogram. */
  readonly count?: bigint;
  readonly sum?: number;
  readonly buckets?: readonly bigint[];
  readonly bounds?: readonly number[];
  readonly min?: number;
  readonly max?: number;
}

export interface ReceivedMetric {
  readonly resource: Record<string, unknown>;
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly type: "sum" | "histogram";
  readonly temporality: string;
  readonly isMonotonic: boolean;
  readonly points: readonly ReceivedPoint[];
}

type Kind =
  | "string"
  | "bytes"
  | "bool"
  | "int64"
  | "uint32"
  | "enum"
  | "fixed32"
  | "fixed64"
  | "double"
  | "packedFixed64"
  | "packedDouble"
  | Table;
interface Field {
  readonly name: string;
  readonly kind: Kind;
  readonly repeated?: true;
}
interface Table {
  readonly [number: number]: Field;
}
type Message = Record<string, unknown>;

const one = (name: string, kind: Kind): Field => ({ name, kind });
const many = (name: string, kind: Kind): Field => ({ name, kind, repeated: true });

const ANY_VALUE: Record<number, Field> = {
  1: one("string", "string"),
  2: one("bool", "bool"),
  3: one("int", "int64"),
  4: one("double", "double"),
  7: one("bytes", "bytes"),
};
const KEY_VALUE: Table = { 1: one("key", "string"), 2: one("value", ANY_VALUE) };
ANY_VALUE[5] = one("array", { 1: many("values", ANY_VALUE) });
ANY_VALUE[6] = one("kvlist", { 1: many("values", KEY_VALUE) });

const RESOURCE: Table = { 1: many("attributes", KEY_VALUE), 2: one("dropped", "uint32") };
const SCOPE: Table = {
  1: one("name", "string"),
  2: one("version", "string"),
  3: many("attributes", KEY_VALUE),
  4: one("dropped", "uint32"),
};
const STATUS: Table = { 2: one("message", "string"), 3: one("code", "enum") };
const SPAN: Table = {
  1: one("traceId", "bytes"),
  2: one("spanId", "bytes"),
  3: one("traceState", "string"),
  4: one("parentSpanId", "bytes"),
  5: one("name", "string"),
  6: one("kind", "enum"),
  7: one("start", "fixed64"),
  8: one("end", "fixed64"),
  9: many("attributes", KEY_VALUE),
  10: one("dropped", "uint32"),
  15: one("status", STATUS),
  16: one("flags", "fixed32"),
};
const TRACES: Table = {
  1: many("resources", {
    1: one("resource", RESOURCE),
    2: many("scopes", { 1: one("scope", SCOPE), 2: many("spans", SPAN), 3: one("schemaUrl", "string") }),
    3: one("schemaUrl", "string"),
  }),
};

const NUMBER_POINT: Table = {
  2: one("start", "fixed64"),
  3: one("time", "fixed64"),
  4: one("asDouble", "double"),
  6: one("asInt", "fixed64"),
  7: many("attributes", KEY_VALUE),
  8: one("flags", "uint32"),
};
const HISTOGRAM_POINT: Table = {
  2: one("start", "fixed64"),
  3: one("time", "fixed64"),
  4: one("count", "fixed64"),
  5: one("sum", "double"),
  6: one("buckets", "packedFixed64"),
  7: one("bounds", "packedDouble"),
  9: many("attributes", KEY_VALUE),
  10: one("flags", "uint32"),
  11: one("min", "double"),
  12: one("max", "double"),
};
const METRIC: Table = {
  1: one("name", "string"),
  2: one("description", "string"),
  3: one("unit", "string"),
  7: one("sum", { 1: many("points", NUMBER_POINT), 2: one("temporality", "enum"), 3: one("isMonotonic", "bool") }),
  9: one("histogram", { 1: many("points", HISTOGRAM_POINT), 2: one("temporality", "enum") }),
};
const METRICS: Table = {
  1: many("resources", {
    1: one("resource", RESOURCE),
    2: many("scopes", { 1: one("scope", SCOPE), 2: many("metrics", METRIC), 3: one("schemaUrl", "string") }),
    3: one("schemaUrl", "string"),
  }),
};

const WIRE_TYPES: Readonly<Record<string, number>> = {
  bool: 0,
  int64: 0,
  uint32: 0,
  enum: 0,
  fixed64: 1,
  double: 1,
  string: 2,
  bytes: 2,
  packedFixed64: 2,
  packedDouble: 2,
  fixed32: 5,
};

function decode(bytes: Uint8Array, table: Table): Message {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const message: Record<string, unknown> = {};
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= bytes.length || shift > 63n) throw new Error("a varint has no end");
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, wireType] = [tag >> 3, tag & 7];
    const field = table[number];
    if (field === undefined) throw new Error(`there is no field ${number}`);
    const expected = typeof field.kind === "string" ? WIRE_TYPES[field.kind] : 2;
    if (wireType !== expected) throw new Error(`${field.name} has wire type ${wireType}`);
    let value: unknown;
    if (wireType === 0) value = scalar(field.kind as string, varint());
    else if (wireType === 5) {
      value = view.getUint32(at, true);
      at += 4;
    } else if (wireType === 1) {
      value = field.kind === "double" ? view.getFloat64(at, true) : view.getBigUint64(at, true);
      at += 8;
    } else {
      const length = Number(varint());
      if (at + length > bytes.length) throw new Error(`${field.name} is longer than its message`);
      value = delimited(bytes.subarray(at, at + length), field.kind);
      at += length;
    }
    if (field.repeated) ((message[field.name] ??= []) as unknown[]).push(value);
    else if (field.name in message) throw new Error(`${field.name} comes twice`);
    else message[field.name] = value;
  }
  return message;
}

function scalar(kind: string, value: bigint): unknown {
  if (kind === "bool") return value !== 0n;
  return kind === "int64" ? BigInt.asIntN(64, value) : Number(value);
}

function delimited(bytes: Uint8Array, kind: Kind): unknown {
  if (typeof kind !== "string") return decode(bytes, kind);
  if (kind === "string") return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  if (kind === "bytes") return Buffer.from(bytes).toString("hex");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / 8 }, (_, index) =>
    kind === "packedDouble" ? view.getFloat64(index * 8, true) : view.getBigUint64(index * 8, true),
  );
}

/** Whole numbers as bigints, so that they differ from doubles. */
function anyValue(value: Message): unknown {
  const [kind, held] = Object.entries(value)[0] ?? ["empty", null];
  if (kind === "array") return (((held as Message)["values"] as Message[] | undefined) ?? []).map(anyValue);
  return kind === "kvlist" ? attributesOf((held as Message)["values"]) : held;
}

function attributesOf(pairs: unknown): Record<string, unknown> {
  const attributes: Record<string, unknown> = {};
  for (const { key, value } of (pairs ?? []) as { readonly key: string; readonly value: Message }[]) {
    if (Object.hasOwn(attributes, key)) throw new Error(`the attribute ${key} comes twice`);
    Object.defineProperty(attributes, key, { value: anyValue(value), enumerable: true });
  }
  return attributes;
}

const KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"];
const CODES = ["unset", "ok", "error"];
const TEMPORALITIES = ["unspecified", "delta", "cumulative"];
const list = (message: Message, name: string): readonly Message[] => (message[name] ?? []) as Message[];

export function decodeTraces(bytes: Uint8Array): readonly ReceivedSpan[] {
  return list(decode(bytes, TRACES), "resources").flatMap((resource) =>
    list(resource, "scopes").flatMap((scoped) =>
      list(scoped, "spans").map((span) => {
        const { code = 0, message = "" } = (span["status"] ?? {}) as { code?: number; message?: string };
        return {
          resource: attributesOf((resource["resource"] as Message)["attributes"]),
          scope: scoped["scope"] as ReceivedSpan["scope"],
          traceId: span["traceId"] as string,
          spanId: span["spanId"] as string,
          parentSpanId: (span["parentSpanId"] as string) ?? "",
          traceState: (span["traceState"] as string) ?? "",
          name: span["name"] as string,
          kind: KINDS[span["kind"] as number]!,
          startNano: span["start"] as bigint,
          endNano: span["end"] as bigint,
          attributes: attributesOf(span["attributes"]),
          status: { code: CODES[code]!, message },
          flags: span["flags"] as number,
        };
      }),
    ),
  );
}

export function decodeMetrics(bytes: Uint8Array): readonly ReceivedMetric[] {
  return list(decode(bytes, METRICS), "resources").flatMap((resource) =>
    list(resource, "scopes").flatMap((scoped) =>
      list(scoped, "metrics").map((metric) => {
        const type = "sum" in metric ? "sum" : "histogram";
        const data = metric[type] as Message;
        return {
          resource: attributesOf((resource["resource"] as Message)["attributes"]),
          name: metric["name"] as string,
          description: metric["description"] as string,
          unit: metric["unit"] as string,
          type,
          temporality: TEMPORALITIES[data["temporality"] as number]!,
          isMonotonic: data["isMonotonic"] === true,
          points: list(data, "points").map(pointOf),
        };
      }),
    ),
  );
}

function pointOf(point: Message): ReceivedPoint {
  const { attributes, start, time, asInt, asDouble, ...rest } = point;
  return {
    attributes: attributesOf(attributes),
    startNano: start as bigint,
    timeNano: time as bigint,
    ...((asInt ?? asDouble) !== undefined && { value: (asInt ?? asDouble) as bigint }),
    ...rest,
  };
}
