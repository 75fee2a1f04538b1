// Corrects in place what OpenAI-compatible servers write differently inside a choice. Non-streaming answers and chunks
// share all of it. The nulls, ids, indexes and roles that the schema of an answer requires are not added here, but when
// the client's answer is written.
import { isObject, type Json, type JsonObject, listIn, objectsIn, textOrEmpty } from "../../core/json.ts";
import { StreamError } from "../interface/upstream-failure.ts";
import type { ErrorClassifier } from "./errors.ts";
import { finishReasonOf, type FinishReasonTable } from "./finish-reasons.ts";

/** A value that was parsed here and is referenced nowhere else, so that it may be changed. */
export type OwnObject = Record<string, Json | undefined>;

/** Throws StreamError when the choice holds an error. `text` is the answer or event with the choice. */
export function requireNoError({ error }: JsonObject, errors: ErrorClassifier, text: string): void {
  if (isObject(error)) throw new StreamError(errors.classifyParsed(200, { error }, text));
}

/** Throws StreamError when the finish reason stands for a failure. */
export function patchFinishReason(choice: OwnObject, table: FinishReasonTable): void {
  const native = choice["finish_reason"];
  const reason = finishReasonOf(native, table);
  if (reason === native) return;
  if (typeof native === "string" && native !== "" && typeof choice["native_finish_reason"] !== "string")
    choice["native_finish_reason"] = native;
  choice["finish_reason"] = reason;
}

/** `message` is a message or a delta. */
export function patchMessage(message: OwnObject, reasoningField: string | undefined): void {
  const { content } = message;
  if (Array.isArray(content)) takeSummaries(message, content as readonly Json[]);
  if (typeof content === "object" && content !== null) patchContent(message, content);
  patchReasoning(message, reasoningField);
  const { annotations } = message;
  if (Array.isArray(annotations)) message["annotations"] = (annotations as readonly Json[]).map(nestedCitation);
  const calls = message["tool_calls"];
  if (calls !== undefined) patchToolCalls(message, calls);
  for (const name of NOT_GIVEN) if (isZero(message[name])) delete message[name];
  const { audio } = message;
  if (isObject(audio)) message["audio"] = wholeAudio(audio);
  const called = message["function_call"];
  if (called === null) delete message["function_call"];
  else if (isObject(called)) patchArguments(called);
}

const NOT_GIVEN = ["function_call", "audio", "refusal"] as const;

/** Whether it is a text or an object in which nothing stands: some servers write every member of OpenAI's form. */
function isZero(value: Json | undefined): boolean {
  if (!isObject(value)) return value === "";
  return Object.values(value).every((member) => member === "" || member === 0 || member === null);
}

/** OpenAI's form requires a transcript and a time beside the audio, of which some servers, as Xiaomi's, have neither. */
function wholeAudio(audio: JsonObject): JsonObject {
  return {
    ...audio,
    ...(audio["expires_at"] === null && { expires_at: 0 }),
    ...(audio["transcript"] === null && { transcript: "" }),
  };
}

/**
 * A list of blocks is replaced by its text, and its reasoning and references are moved to members of their own. An
 * object, which some servers send in JSON mode, is replaced by its JSON text.
 */
function patchContent(message: OwnObject, content: Json): void {
  if (!Array.isArray(content)) {
    message["content"] = JSON.stringify(content);
    return;
  }
  let text = "";
  let reasoning = "";
  const references: Json[] = [];
  for (const block of content as readonly Json[]) {
    if (typeof block === "string") text += block;
    else if (isObject(block)) {
      if (typeof block["text"] === "string") text += block["text"];
      reasoning += textOf(block["thinking"] ?? block["reasoning"]);
      if (REFERENCES.has(block["type"])) references.push(block);
    }
  }
  message["content"] = text;
  if (reasoning !== "" && typeof message["reasoning_content"] !== "string") message["reasoning_content"] = reasoning;
  if (references.length > 0) message["references"] = references;
}

/** Mistral's citations, which have no text of their own: https://docs.mistral.ai/capabilities/citations */
const REFERENCES: ReadonlySet<unknown> = new Set(["reference", "tool_reference"]);

/** Mistral's `thinking` is a list of text blocks: https://docs.mistral.ai/capabilities/reasoning */
function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return (value as readonly Json[])
    .map((block) => (typeof block === "string" ? block : isObject(block) ? textOrEmpty(block["text"]) : ""))
    .join("");
}

/** Citations whose members stand beside their type, as at Xiaomi, get OpenAI's form, and no place where they have none. */
function nestedCitation(annotation: Json): Json {
  if (!isObject(annotation) || annotation["type"] !== "url_citation" || annotation["url_citation"] !== undefined)
    return annotation;
  const { type, url, title, ...rest } = annotation;
  if (typeof url !== "string") return annotation;
  const named = typeof title === "string" ? title : url;
  return { type, url_citation: { start_index: 0, end_index: 0, ...rest, url, title: named } };
}

/** Moves the reasoning text to one name, whichever names the server uses, also when it uses several. */
function patchReasoning(message: OwnObject, reasoningField: string | undefined): void {
  if (reasoningField !== undefined) moveReasoning(message, reasoningField);
  if (message["reasoning"] !== undefined) moveReasoning(message, "reasoning");
  if (message["reasoning_content"] === null) delete message["reasoning_content"];
}

function moveReasoning(message: OwnObject, field: string): void {
  const text = message[field];
  if (text === undefined || (typeof text === "object" && text !== null)) return;
  delete message[field];
  const there = message["reasoning_content"];
  if (typeof text === "string" && (typeof there !== "string" || there === "")) message["reasoning_content"] = text;
}

function patchToolCalls(message: OwnObject, calls: Json): void {
  const list = isObject(calls) ? [calls] : calls;
  if (!Array.isArray(list) || list.length === 0) {
    delete message["tool_calls"];
    return;
  }
  if (list !== calls) message["tool_calls"] = list;
  for (const call of list as readonly OwnObject[]) {
    if (!isObject(call)) continue;
    const { function: called, custom } = call;
    if (isObject(called) && isZero(custom)) delete call["custom"];
    else if (isObject(custom) && isZero(called)) delete call["function"];
    if (isObject(called)) patchArguments(called);
  }
}

export function hasToolCalls(message: OwnObject): boolean {
  const calls = message["tool_calls"];
  return Array.isArray(calls) && calls.length > 0;
}

/** Arguments that are an object become its JSON text. A text is kept unchanged, even if it was cut off. */
function patchArguments(called: OwnObject): void {
  const value = called["arguments"];
  if (typeof value === "string" || value === undefined) return;
  called["arguments"] = value === null ? "" : JSON.stringify(value);
}

/**
 * Databricks' reasoning blocks are lists of signed pieces, which have to be sent back:
 * https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models
 */
function takeSummaries(message: OwnObject, content: readonly Json[]): void {
  const summaries = content
    .filter(isObject)
    .flatMap((block) => (block["type"] === "reasoning" ? listIn(block["summary"]) : []));
  if (summaries.length === 0) return;
  message["reasoning_content"] ??= textOf(summaries);
  message["reasoning_details"] ??= summaries.filter(isObject).map(({ text, signature }) => ({
    type: "reasoning.text",
    text: text ?? "",
    ...(typeof signature === "string" && signature !== "" && { signature }),
    index: 0,
  }));
}

/** Writes missing arguments as an empty object. It is only for complete tool calls. */
export function completeArguments(message: OwnObject): void {
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return;
  for (const call of calls as readonly Json[]) {
    const called = isObject(call) ? (call["function"] as OwnObject | undefined) : undefined;
    if (isObject(called) && (called["arguments"] === undefined || called["arguments"] === ""))
      called["arguments"] = "{}";
  }
}

const TOKEN_KEYS = ["token", "logprob"] as const;

/**
 * Keeps only `content` and `refusal`, only OpenAI's keys in their entries, and adds `top_logprobs` to each entry,
 * because clients assert all three. The parallel lists of the old completions operation become entries.
 */
export function patchLogprobs(choice: OwnObject): void {
  const { logprobs } = choice;
  if (!isObject(logprobs)) {
    if (logprobs !== undefined && logprobs !== null) choice["logprobs"] = null;
    return;
  }
  const content =
    Array.isArray(logprobs["tokens"]) && !Array.isArray(logprobs["content"])
      ? fromLists(logprobs)
      : logprobs["content"];
  const reasoning = entries(logprobs["reasoning_content"]);
  choice["logprobs"] = {
    content: entries(content),
    refusal: entries(logprobs["refusal"]),
    ...(reasoning !== null && { reasoning_content: reasoning }),
  };
}

function entries(list: Json | undefined): Json {
  if (!Array.isArray(list)) return null;
  return objectsIn(list).map((entry) => ({
    ...tokenOf(entry),
    top_logprobs: objectsIn(entry["top_logprobs"]).map(tokenOf),
  }));
}

function tokenOf(entry: JsonObject): JsonObject {
  const token: OwnObject = {};
  for (const key of TOKEN_KEYS) if (entry[key] !== undefined) token[key] = entry[key];
  const { bytes } = entry;
  // Novita writes them in base64.
  if (bytes !== undefined) token["bytes"] = typeof bytes === "string" ? [...Buffer.from(bytes, "base64")] : bytes;
  return token;
}

function fromLists(logprobs: JsonObject): Json {
  const tokens = logprobs["tokens"] as readonly Json[];
  const values = listIn(logprobs["token_logprobs"]);
  const alternatives = listIn(logprobs["top_logprobs"]);
  return tokens.map((token, index) => {
    const others = alternatives[index];
    return {
      token,
      logprob: values[index] ?? null,
      // An object of tokens, or a list of entries, as at Together.
      top_logprobs: isObject(others)
        ? Object.entries(others).map(([name, logprob]) => ({ token: name, logprob: logprob ?? null }))
        : listIn(others),
    };
  });
}
