// Traces of calls for Langfuse, over its OTLP intake, with the attributes that Langfuse stores in fields of its own.
// https://langfuse.com/integrations/native/opentelemetry#property-mapping
import type { JsonObject } from "../../../core/json.ts";
import type { RecordedCall, Sink } from "../sink.ts";
import type { LangfuseSettings } from "./langfuse-settings.ts";
import { type Attributes, cut, prefixed } from "../otlp/attributes.ts";
import { openTraceSink } from "./otlp-sink.ts";
import type { Dialect } from "../otlp/call-spans.ts";
import { attemptFailure, type SpanPart, toolFailure } from "../otlp/record-spans.ts";
import { inputMessage, outputMessage } from "../otlp/span-content.ts";

export function openLangfuseSink(settings: LangfuseSettings): Sink {
  return openTraceSink(settings, [langfuse(settings.fields)]);
}

/** Attributes of the whole trace are repeated on each of its spans, because Langfuse reads them there. */
export function langfuse(fields: LangfuseSettings["fields"]): Dialect {
  return (call, part) => ({ ...traceAttributes(call, fields, part), ...observationAttributes(call, part) });
}

/** Fields of metadata on a span below that of the call: a call may have hundreds of spans, and metadata of 64 KiB. */
const MAX_REPEATED = 50;
/** Langfuse's own bound for repeated values, in characters. */
const MAX_REPEATED_WORDS = 200;

/** Characters of all repeated tags together. */
const MAX_REPEATED_TAGS = 1024;

function traceAttributes(
  { record: { endUser, metadata } }: RecordedCall,
  fields: LangfuseSettings["fields"],
  part: SpanPart,
): Attributes {
  const isWhole = part.of === "call";
  const tags = metadata?.[fields.tags];
  const hasTags =
    Array.isArray(tags) &&
    tags.every((tag) => typeof tag === "string") &&
    (isWhole || JSON.stringify(tags).length <= MAX_REPEATED_TAGS);
  return {
    "langfuse.trace.name": textOf(metadata, fields.traceName),
    "langfuse.user.id": endUser ?? undefined,
    "langfuse.session.id": textOf(metadata, fields.session),
    "langfuse.trace.tags": hasTags ? tags : undefined,
    ...prefixed("langfuse.trace.metadata.", isWhole ? metadata : repeated(metadata)),
  };
}

function repeated(metadata: JsonObject | null): JsonObject | null {
  if (metadata === null) return null;
  const short = Object.entries(metadata).filter(
    ([name, value]) =>
      name.length <= MAX_REPEATED_WORDS &&
      (typeof value === "string" ? value : JSON.stringify(value)).length <= MAX_REPEATED_WORDS,
  );
  return Object.fromEntries(short.slice(0, MAX_REPEATED));
}

function textOf(metadata: JsonObject | null, field: string): string | undefined {
  const value = metadata !== null && Object.hasOwn(metadata, field) ? metadata[field] : undefined;
  return typeof value === "string" && value !== "" ? cut(value) : undefined;
}

function observationAttributes({ record, content }: RecordedCall, part: SpanPart): Attributes {
  if (part.of === "tool") return { "langfuse.observation.type": "tool", ...levelOf(toolFailure(part.run)) };
  if (part.of === "attempt") {
    const { attempt, isAnswer } = part;
    const cameMs = attempt.firstContentMs;
    return {
      // https://langfuse.com/docs/observability/features/observation-types
      "langfuse.observation.type": record.operation === "embeddings" ? "embedding" : "generation",
      "langfuse.observation.completion_start_time":
        record.stream && cameMs !== null
          ? JSON.stringify(new Date(record.startedAtMs + cameMs).toISOString())
          : undefined,
      // The cost is the sum of all attempts; it is that of the attempt only when there was one.
      "langfuse.observation.cost_details":
        isAnswer && record.attempts.length === 1 && record.cost !== null
          ? JSON.stringify({ total: record.cost.nanoUsd / 1e9 })
          : undefined,
      ...levelOf(attemptFailure(attempt)),
    };
  }
  return {
    // With a model of its own, this span would count as one more answer and its cost would be counted twice.
    "langfuse.observation.type": "span",
    ...levelOf(record.code),
    ...(content !== null && {
      "langfuse.observation.input": JSON.stringify(content.messages.map(inputMessage)),
      "langfuse.observation.output": JSON.stringify(content.answers.map(outputMessage)),
    }),
  };
}

function levelOf(failure: string | null): Attributes {
  return failure === null
    ? {}
    : { "langfuse.observation.level": "ERROR", "langfuse.observation.status_message": failure };
}
