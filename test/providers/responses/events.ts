// Events and answers of the Responses form, made up for the tests of its decoders, and what a client reads of the chunks.
import type { ChatAnswer, ChatChunk } from "../../../src/core/chat.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { isObject } from "../../../src/core/json.ts";
import { errorClassifier } from "../../../src/providers/openai-compatible/errors.ts";
import { openStream } from "../../../src/providers/responses/decode-stream.ts";
import type { ResponsesRules } from "../../../src/providers/responses/rules.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";

const errors = errorClassifier({});

export const RULES: ResponsesRules = {
  reasoningFormat: "acme-responses-v1",
  carriedAs: "acme",
  failureOf: (parsed, text) => errors.classifyParsed(200, parsed, text),
};

export const USAGE = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 20, cache_write_tokens: 4 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 7 },
  total_tokens: 42,
};

export function responseOf(output: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1_760_000_000,
    status: "completed",
    error: null,
    incomplete_details: null,
    model: "m-1",
    output,
    usage: USAGE,
    ...more,
  };
}

export const reasoning = (id: string, summary: readonly string[], encrypted?: string): JsonObject => ({
  id,
  type: "reasoning",
  summary: summary.map((text) => ({ type: "summary_text", text })),
  ...(encrypted !== undefined && { encrypted_content: encrypted }),
});
export const message = (id: string, text: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [], ...more }],
});
export const call = (id: string, name: string, text: string, more: JsonObject = {}): JsonObject => ({
  id: `fc_${id}`,
  type: "function_call",
  status: "completed",
  call_id: `call_${id}`,
  name,
  arguments: text,
  ...more,
});
export const customCall = (id: string, name: string, input: string): JsonObject => ({
  id: `ctc_${id}`,
  type: "custom_tool_call",
  status: "completed",
  call_id: `call_${id}`,
  name,
  input,
});

/** Cuts a text into pieces of a few characters. */
function pieces(text: string): readonly string[] {
  return text.match(/[^]{1,5}/gu) ?? [];
}

/** The events of a whole answer, numbered, each text in pieces. */
export function eventsOf(response: JsonObject): readonly SseEvent[] {
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const items = (response["output"] as readonly JsonObject[]).flatMap((item, index) => itemEvents(item, index));
  const ending = response["status"] === "completed" ? "response.completed" : `response.${response["status"] as string}`;
  return numbered([
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...items,
    { type: ending, response },
  ]);
}

export function numbered(events: readonly JsonObject[]): readonly SseEvent[] {
  return events.map((event, number) => ({
    event: event["type"] as string,
    data: JSON.stringify({ ...event, sequence_number: number }),
  }));
}

function itemEvents(item: JsonObject, index: number): readonly JsonObject[] {
  const at = { output_index: index, item_id: item["id"]! };
  return [
    { type: "response.output_item.added", output_index: index, item: emptied(item) },
    ...contentEvents(item, at),
    { type: "response.output_item.done", output_index: index, item },
  ];
}

function emptied(item: JsonObject): JsonObject {
  return {
    ...item,
    status: "in_progress",
    ...(item["content"] !== undefined && { content: [] }),
    ...(item["summary"] !== undefined && { summary: [] }),
    ...(item["arguments"] !== undefined && { arguments: "" }),
    ...(item["input"] !== undefined && { input: "" }),
  };
}

function contentEvents(item: JsonObject, at: JsonObject): readonly JsonObject[] {
  const parts = (name: string): readonly JsonObject[] => (item[name] as readonly JsonObject[] | undefined) ?? [];
  switch (item["type"]) {
    case "message":
      return parts("content").flatMap((part, content) => partEvents(part, { ...at, content_index: content }));
    case "reasoning":
      return [
        ...parts("content").flatMap((part, content) =>
          texts("response.reasoning_text", part["text"] as string, { ...at, content_index: content }),
        ),
        ...parts("summary").flatMap((part, summary) =>
          texts("response.reasoning_summary_text", part["text"] as string, { ...at, summary_index: summary }),
        ),
      ];
    case "function_call":
      return texts("response.function_call_arguments", item["arguments"] as string, at, "arguments");
    case "custom_tool_call":
      return texts("response.custom_tool_call_input", item["input"] as string, at, "input");
    default:
      return [];
  }
}

function partEvents(part: JsonObject, at: JsonObject): readonly JsonObject[] {
  if (part["type"] === "refusal") return texts("response.refusal", part["refusal"] as string, at, "refusal");
  const annotations = (part["annotations"] as readonly JsonObject[] | undefined) ?? [];
  return [
    { type: "response.content_part.added", ...at, part: { ...part, text: "", annotations: [] } },
    ...texts("response.output_text", part["text"] as string, at),
    ...annotations.map((annotation, number) => ({
      type: "response.output_text.annotation.added",
      ...at,
      annotation_index: number,
      annotation,
    })),
    { type: "response.content_part.done", ...at, part },
  ];
}

function texts(stem: string, text: string, at: JsonObject, whole = "text"): readonly JsonObject[] {
  return [
    ...pieces(text).map((delta) => ({ type: `${stem}.delta`, ...at, delta })),
    { type: `${stem}.done`, ...at, [whole]: text },
  ];
}

export interface Read {
  readonly frame: readonly Json[];
  readonly text: string;
  readonly refusal: string;
  readonly reasoning: string;
  readonly details: readonly Json[];
  readonly calls: readonly JsonObject[];
  readonly annotations: readonly Json[];
  readonly logprobs: readonly Json[];
  readonly extra: Json;
  readonly finish: Json;
  readonly nativeFinish: Json;
  readonly usage: Json;
}

export function readAnswer(answer: ChatAnswer): Read {
  const choice = answer.choices[0]!;
  const { message: said } = choice;
  return {
    frame: [answer.id ?? null, answer["model"] ?? null, answer.created ?? null],
    text: said.content ?? "",
    refusal: said.refusal ?? "",
    reasoning: said.reasoning_content ?? "",
    details: said.reasoning_details ?? [],
    calls: said.tool_calls ?? [],
    annotations: (said["annotations"] as readonly Json[] | undefined) ?? [],
    logprobs: (choice.logprobs?.["content"] as readonly Json[] | undefined) ?? [],
    extra: said["extra_content"] ?? null,
    finish: choice.finish_reason ?? null,
    nativeFinish: choice.native_finish_reason ?? null,
    usage: answer.usage ?? null,
  };
}

/** Puts the chunks together as a client does. */
export function readChunks(chunks: readonly ChatChunk[]): Read {
  const calls: Record<string, Json>[] = [];
  const read = {
    frame: [] as Json[],
    text: "",
    refusal: "",
    reasoning: "",
    details: [] as Json[],
    annotations: [] as Json[],
    logprobs: [] as Json[],
    extra: null as Json,
    finish: null as Json,
    nativeFinish: null as Json,
    usage: null as Json,
  };
  for (const chunk of chunks) {
    if (chunk.id !== undefined) read.frame = [chunk.id, chunk["model"] ?? null, chunk.created ?? null];
    read.usage = chunk.usage ?? read.usage;
    for (const { delta = {}, finish_reason: finish, native_finish_reason: native, logprobs } of chunk.choices) {
      read.text += delta.content ?? "";
      read.refusal += delta.refusal ?? "";
      read.reasoning += delta.reasoning_content ?? "";
      read.details.push(...(delta.reasoning_details ?? []));
      read.annotations.push(...((delta["annotations"] as readonly Json[] | undefined) ?? []));
      read.logprobs.push(...((logprobs?.["content"] as readonly Json[] | undefined) ?? []));
      read.extra = delta["extra_content"] ?? read.extra;
      read.finish = finish ?? read.finish;
      read.nativeFinish = native ?? read.nativeFinish;
      for (const piece of delta.tool_calls ?? []) addCall(calls, piece);
    }
  }
  return { ...read, calls };
}

function addCall(calls: Record<string, Json>[], piece: JsonObject): void {
  const { index, ...rest } = piece;
  const there = calls[index as number];
  if (there === undefined) {
    calls[index as number] = rest as Record<string, Json>;
    return;
  }
  const kind = isObject(rest["custom"]) ? "custom" : "function";
  const name = kind === "custom" ? "input" : "arguments";
  const [before, added] = [there[kind] as JsonObject, rest[kind] as JsonObject];
  there[kind] = { ...before, [name]: `${before[name] as string}${added[name] as string}` };
}

export interface Streamed {
  readonly read: Read;
  readonly isComplete: boolean;
}

export function streamed(events: readonly SseEvent[]): Streamed {
  const decoder = openStream(RULES);
  const chunks = [...events.flatMap((event) => decoder.push(event)), ...decoder.end()];
  return { read: readChunks(chunks), isComplete: decoder.isTerminated === true };
}
