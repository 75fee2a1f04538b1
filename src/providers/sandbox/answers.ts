// What each sandbox model says: a pure function of the request, so that the same call always has the same answer. One token is one word: a run of
// characters without white space, with the white space that follows it.
import type { ChatParams, Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { type Plan, planOf } from "./planned-calls.ts";
import { sampleOf } from "./schema-sample.ts";

export interface SandboxRequest extends ChatParams {
  readonly model: string;
  readonly messages: readonly Message[];
}

export interface SandboxCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface SandboxAnswer {
  readonly words: readonly string[];
  readonly calls: readonly SandboxCall[];
  readonly finish: "stop" | "length" | "tool_calls";
}

const MAX_WORDS = 100_000;
/** Of all choices of an answer together: what is sent is echoed up to 128 times. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const WORDS = "the quick brown fox jumps over a lazy dog while seven wise owls keep watch above quiet water".split(" ");

export function answerOf(request: SandboxRequest): SandboxAnswer {
  const plan = request.model === "tools" ? planOf(request.messages, offeredIn(request)) : null;
  if (plan !== null && !isObject(request.tool_choice)) return planned(plan, request);
  const call = request.model === "tools" || request.model === "assistant" ? firstCall(request) : null;
  if (call !== null) return { words: [], calls: [call], finish: "tool_calls" };
  return bounded(textOf(request), request);
}

function planned({ calls, called, results }: Plan, request: SandboxRequest): SandboxAnswer {
  if (calls.length === 0 || request.tool_choice === "none")
    return bounded(
      results.length === 0
        ? "Nothing was called."
        : `${results.length === 1 ? "The tool" : "The tools"} said: ${results.map(messageText).join(" | ")}`,
      request,
    );
  const offered = offeredIn(request);
  const made = calls.map(({ name, args }, index) => ({
    id: `call_sandbox_${called + index}`,
    name,
    arguments:
      args ??
      sampleFor(
        offered.find((tool) => tool["name"] === name)!,
        request,
      ),
  }));
  const said = bounded(`I call ${calls.map(({ name }) => name).join(" and ")}.`, request);
  return said.finish === "length" ? said : { words: said.words, calls: made, finish: "tool_calls" };
}

function offeredIn({ tools = [] }: SandboxRequest): readonly JsonObject[] {
  return tools.flatMap((tool) => (isObject(tool["function"]) ? [tool["function"]] : []));
}

function sampleFor(tool: JsonObject, request: SandboxRequest): string {
  const sample = JSON.stringify(sampleOf(tool["parameters"] ?? { type: "object" }));
  return sample.length <= roomOf(request) ? sample : "{}";
}

function textOf(request: SandboxRequest): string {
  const counted = /^words-(\d{1,6})$/.exec(request.model);
  if (counted !== null)
    return Array.from(
      { length: Math.min(MAX_WORDS, Number(counted[1])) },
      (_, index) => WORDS[index % WORDS.length]!,
    ).join(" ");
  if (request.model === "json" || (request.model === "assistant" && asksForJson(request)))
    return JSON.stringify(jsonOf(request));
  const last = request.messages.at(-1);
  if ((request.model === "tools" || request.model === "assistant") && last?.role === "tool")
    return `The tool said: ${messageText(last)}`;
  return lastUserText(request.messages);
}

function asksForJson({ response_format: format }: SandboxRequest): boolean {
  return format !== undefined && format.type !== "text";
}

function jsonOf(request: SandboxRequest): Json {
  const format = request.response_format;
  return format?.type === "json_schema"
    ? sampleOf(format.json_schema.schema)
    : { answer: lastUserText(request.messages) };
}

/** Calls the tool that is forced, else the first that is offered; none when there is none, or when the conversation ends with a result. */
function firstCall(request: SandboxRequest): SandboxCall | null {
  if (request.tool_choice === "none" || request.messages.at(-1)?.role === "tool") return null;
  const offered = offeredIn(request);
  const forced =
    isObject(request.tool_choice) && isObject(request.tool_choice["function"])
      ? request.tool_choice["function"]["name"]
      : undefined;
  const chosen = forced === undefined ? offered[0] : offered.find((tool) => tool["name"] === forced);
  if (chosen === undefined) return null;
  return { id: "call_sandbox_0", name: chosen["name"] as string, arguments: sampleFor(chosen, request) };
}

function roomOf(request: SandboxRequest): number {
  return Math.floor(MAX_CHARACTERS / (request.n ?? 1));
}

function bounded(whole: string, request: SandboxRequest): SandboxAnswer {
  const stops = typeof request.stop === "string" ? [request.stop] : (request.stop ?? []);
  const stopped = stops.reduce(
    (text, stop) => (stop !== "" && text.includes(stop) ? text.slice(0, text.indexOf(stop)) : text),
    whole,
  );
  const room = roomOf(request);
  const said = wordsOf(stopped.slice(0, room));
  const bound = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY;
  return said.length > bound
    ? { words: said.slice(0, bound), calls: [], finish: "length" }
    : { words: said, calls: [], finish: stopped.length > room ? "length" : "stop" };
}

export function wordsOf(text: string): readonly string[] {
  return text.match(/\S+\s*|^\s+/g) ?? [];
}

export function promptTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + wordsOf(messageText(message).slice(0, MAX_CHARACTERS)).length, 0);
}

function lastUserText(messages: readonly Message[]): string {
  const last = messages.findLast((message) => message.role === "user") ?? messages.at(-1);
  return last === undefined ? "" : messageText(last);
}

function messageText(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).flatMap((part) => (typeof part["text"] === "string" ? [part["text"]] : [])).join("\n");
}
