// A span, and the protobuf form of an export of spans. https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
import { VERSION } from "../../core/version.ts";
import type { ProtobufWriter } from "../../wire/protobuf.ts";
import { type Attributes, writeAttributes } from "./attributes.ts";

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  /** The parent is a span of another service. */
  readonly hasRemoteParent: boolean;
  readonly traceState: string | null;
  readonly name: string;
  readonly kind: "server" | "client";
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** What went wrong; null: nothing did that is this span's to tell. */
  readonly error: string | null;
}

/** Who exports. */
export interface Resource {
  readonly attributes: Attributes;
}

/** Of OpenTelemetry's own names; those of `gen_ai` and `mcp` are moved on apart from them. */
const SCOPE = "dragoman";
const KINDS = { server: 2, client: 3 } as const;
const ERROR = 2;
const SAMPLED = 0x01;
const KNOWS_IF_REMOTE = 0x100;
const IS_REMOTE = 0x200;

export function encodeSpans(writer: ProtobufWriter, { attributes }: Resource, spans: Iterable<Span>): Uint8Array<ArrayBuffer> {
  writer.clear();
  const resourceSpans = writer.begin(1);
  writeResource(writer, attributes);
  const scopeSpans = writer.begin(2);
  writeScope(writer);
  for (const span of spans) writeSpan(writer, span);
  writer.end(scopeSpans);
  writer.end(resourceSpans);
  return writer.bytes();
}

export function writeResource(writer: ProtobufWriter, attributes: Attributes): void {
  const resource = writer.begin(1);
  writeAttributes(writer, 1, attributes);
  writer.end(resource);
}

export function writeScope(writer: ProtobufWriter): void {
  const scope = writer.begin(1);
  writer.text(1, SCOPE);
  writer.text(2, VERSION);
  writer.end(scope);
}

function writeSpan(writer: ProtobufWriter, span: Span): void {
  const start = writer.begin(2);
  writer.hex(1, span.traceId);
  writer.hex(2, span.spanId);
  if (span.traceState !== null) writer.text(3, span.traceState);
  if (span.parentSpanId !== null) writer.hex(4, span.parentSpanId);
  writer.text(5, span.name);
  writer.integer(6, KINDS[span.kind]);
  writer.nanoseconds(7, span.startMs);
  writer.nanoseconds(8, Math.max(span.startMs, span.endMs));
  writeAttributes(writer, 9, span.attributes);
  if (span.error !== null) {
    const status = writer.begin(15);
    writer.text(2, span.error);
    writer.integer(3, ERROR);
    writer.end(status);
  }
  writer.fixed32(16, SAMPLED | KNOWS_IF_REMOTE | (span.hasRemoteParent ? IS_REMOTE : 0));
  writer.end(start);
}
