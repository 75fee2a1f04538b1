// The spans of a call as a receiver gets them. Several receivers are told mostly the same: that is made and encoded once for all of them, and each adds the attributes
// that it has names of its own for.
import type { CallRecord } from "../../../core/record.ts";
import type { TraceContext } from "../../../core/trace.ts";
import { ProtobufWriter } from "../../../wire/protobuf.ts";
import type { RecordedCall } from "../sink.ts";
import type { Attributes } from "./attributes.ts";
import { recordSpans, type SpanPart } from "./record-spans.ts";
import { type EncodedSpan, writeSpanFields } from "./span.ts";

/** Further attributes of a span, for receivers with names of their own: none that every receiver is told, and none of another dialect's beside it. */
export type Dialect = (call: RecordedCall, part: SpanPart) => Attributes;

/** What every receiver is told alike. */
interface SharedSpan {
  readonly part: SpanPart;
  readonly fields: Uint8Array;
}

const shared = new WeakMap<CallRecord, readonly SharedSpan[]>();
const WRITER = new ProtobufWriter();
/** What the span of a call is taken for, where no dialect has another word. */
const OPERATION = "gen_ai.operation.name";
const CALL_OPERATION: Attributes = { [OPERATION]: "chat" };

/** None where the call is not traced, its trace is not kept, or nobody was to be called. */
export function spansOf(call: RecordedCall, dialects: readonly Dialect[]): readonly EncodedSpan[] {
  const { record } = call;
  const { trace } = record;
  if (trace === null || !trace.sampled || record.explained) return [];
  return sharedSpans(record, trace).map(({ part, fields }) => {
    const more = dialects.map((dialect) => dialect(call, part));
    if (part.of === "call" && !more.some((attributes) => OPERATION in attributes)) more.push(CALL_OPERATION);
    return { fields, more };
  });
}

function sharedSpans(record: CallRecord, trace: TraceContext): readonly SharedSpan[] {
  const known = shared.get(record);
  if (known !== undefined) return known;
  const spans = recordSpans(record, trace);
  WRITER.clear();
  const ends = spans.map(({ span }) => {
    writeSpanFields(WRITER, span);
    return WRITER.length;
  });
  const bytes = WRITER.bytes();
  const made = spans.map(({ part }, index): SharedSpan => ({
    part,
    fields: bytes.subarray(index === 0 ? 0 : ends[index - 1], ends[index]),
  }));
  shared.set(record, made);
  return made;
}
