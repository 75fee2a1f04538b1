// A span, and the protobuf form of an export of spans.
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
import { VERSION } from "../../../core/version.ts";
import type { ProtobufWriter } from "../../../wire/protobuf.ts";
import { type Attributes, writeAttributes } from "./attributes.ts";

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  /** Whether the parent is a span of another service. */
  readonly hasRemoteParent: boolean;
  readonly traceState: string | null;
  readonly name: string;
  readonly kind: "server" | "client";
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** The error of the span; `null` when it ended without one. */
  readonly error: string | null;
}

/** A span whose fields are encoded, except for some of its attributes. */
export interface EncodedSpan {
  readonly fields: Uint8Array;
  readonly more: readonly Attributes[];
}

/** The instrumentation scope. */
const SCOPE = "dragoman";
const KINDS = { server: 2, client: 3 } as const;
const ATTRIBUTES = 9;
const ERROR = 2;
const SAMPLED = 0x01;
const KNOWS_IF_REMOTE = 0x100;
const IS_REMOTE = 0x200;

export function encodeSpans(
  writer: ProtobufWriter,
  exporter: Attributes,
  spans: readonly EncodedSpan[],
): Uint8Array<ArrayBuffer> {
  return encodeExport(writer, exporter, () => {
    for (const { fields, more } of spans) {
      const span = writer.begin(2);
      writer.raw(fields);
      for (const attributes of more) writeAttributes(writer, ATTRIBUTES, attributes);
      writer.end(span);
    }
  });
}

/** An export of what one service has: spans or metrics. The bytes are valid until the next write. */
export function encodeExport(
  writer: ProtobufWriter,
  exporter: Attributes,
  writeItems: () => void,
): Uint8Array<ArrayBuffer> {
  writer.clear();
  const ofResource = writer.begin(1);
  const resource = writer.begin(1);
  writeAttributes(writer, 1, exporter);
  writer.end(resource);
  const ofScope = writer.begin(2);
  const scope = writer.begin(1);
  writer.text(1, SCOPE);
  writer.text(2, VERSION);
  writer.end(scope);
  writeItems();
  writer.end(ofScope);
  writer.end(ofResource);
  return writer.written;
}

/** Writes the fields of a span's message. */
export function writeSpanFields(writer: ProtobufWriter, span: Span): void {
  writer.hex(1, span.traceId);
  writer.hex(2, span.spanId);
  if (span.traceState !== null) writer.text(3, span.traceState);
  if (span.parentSpanId !== null) writer.hex(4, span.parentSpanId);
  writer.text(5, span.name);
  writer.integer(6, KINDS[span.kind]);
  writer.nanoseconds(7, span.startMs);
  writer.nanoseconds(8, Math.max(span.startMs, span.endMs));
  writeAttributes(writer, ATTRIBUTES, span.attributes);
  if (span.error !== null) {
    const status = writer.begin(15);
    writer.text(2, span.error);
    writer.integer(3, ERROR);
    writer.end(status);
  }
  writer.fixed32(16, SAMPLED | KNOWS_IF_REMOTE | (span.hasRemoteParent ? IS_REMOTE : 0));
}
