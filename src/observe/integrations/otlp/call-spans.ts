// The spans of a call as a receiver gets them. Several receivers get mostly the same attributes: these are made and
// encoded once for all of them, and each receiver adds attributes with names of its own.
import { memoizePerObject } from "../../../core/memoization.ts";
import type { CallRecord } from "../../../core/record/record.ts";
import { ProtobufWriter } from "../../../wire/protobuf.ts";
import type { RecordedCall } from "../sink.ts";
import type { Attributes } from "./attributes.ts";
import { conventionalOperation } from "./operation-names.ts";
import { recordSpans, type SpanPart } from "./record-spans.ts";
import { type EncodedSpan, writeSpanFields } from "./span.ts";

/**
 * Adds attributes to a span for a receiver with names of its own. It must not repeat an attribute that every receiver
 * gets, nor one of another dialect that is used beside it.
 */
export type Dialect = (call: RecordedCall, part: SpanPart) => Attributes;

const SPAN_BYTES = 4096;
/** The operation of the call's span, unless a dialect sets another one. */
const OPERATION = "gen_ai.operation.name";

/**
 * Empty when the call is not traced, its trace is not sampled, or the call was only explained and no provider was
 * called.
 */
export function spansOf(call: RecordedCall, dialects: readonly Dialect[]): readonly EncodedSpan[] {
  const { record } = call;
  const { trace } = record;
  if (trace === null || !trace.sampled || record.explained) return [];
  return sharedSpans(record).map(({ part, fields }) => {
    const more = dialects.map((dialect) => dialect(call, part));
    if (part.of === "call" && !more.some((attributes) => OPERATION in attributes))
      more.push({ [OPERATION]: conventionalOperation(record.operation).name });
    return { fields, more };
  });
}

/** The record has a trace. */
const sharedSpans = memoizePerObject((record: CallRecord) => {
  const spans = recordSpans(record, record.trace!);
  const writer = new ProtobufWriter(SPAN_BYTES);
  const ends = spans.map(({ span }) => {
    writeSpanFields(writer, span);
    return writer.length;
  });
  const bytes = writer.bytes();
  return spans.map(({ part }, index) => ({
    part,
    fields: bytes.subarray(index === 0 ? 0 : ends[index - 1], ends[index]),
  }));
});
