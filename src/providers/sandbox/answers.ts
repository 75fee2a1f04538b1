// The answers of the sandbox models: a pure function of the request, so that the same call always has the same answer.
import type { ChatParams, Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { agentStep } from "./agent.ts";
import { type Plan, planOf } from "./planned-calls.ts";
import { sampleOf } from "./schema-sample.ts";
import { countWords, textIn } from "./words.ts";

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
  readonly text: string;
  readonly calls: readonly SandboxCall[];
  readonly finish: "stop" | "length" | "tool_calls";
}

const MAX_WORDS = 100_000;
/** The most characters of the request that each choice repeats. */
export const MAX_REPEATED_CHARACTERS = 100_000;
/** The most characters of all choices of an answer together. An answer has up to 128 choices. */
export const MAX_CHARACTERS = 4 * 1024 * 1024;
const WORDS = "the quick brown fox jumps over a lazy dog while seven wise owls keep watch above quiet water".split(" ");
const ALL_WORDS = `${WORDS.join(" ")} `;

export function answerOf(request: SandboxRequest): SandboxAnswer {
  const counted = /^words-(\d{1,6})$/.exec(request.model);
  if (counted !== null) return bounded(manyWords(Number(counted[1])), request, MAX_CHARACTERS);
  if (request.model === "agent") return agentAnswer(request);
  const plan = request.model === "tools" ? planOf(request.messages, offeredIn(request)) : null;
  if (plan !== null && !isObject(request.tool_choice)) return planned(plan, request);
  const call = request.model === "tools" || request.model === "assistant" ? firstCall(request) : null;
  if (call !== null) return { text: "", calls: [call], finish: "tool_calls" };
  return bounded(textOf(request), request);
}

function agentAnswer(request: SandboxRequest): SandboxAnswer {
  const step = agentStep(request.messages, offeredIn(request));
  if (step === null)
    return bounded(
      asksForJson(request) ? JSON.stringify(jsonOf(request)) : "There is no tool here that I know.",
      request,
    );
  if (isObject(request.tool_choice)) {
    const forced = firstCall(request);
    if (forced !== null)
      return { text: "", calls: [{ ...forced, id: `call_sandbox_${step.called}` }], finish: "tool_calls" };
  }
  if (step.call === null || request.tool_choice === "none") return bounded(step.text, request);
  const { name, args } = step.call;
  const said = bounded(`I call ${name}.`, request);
  if (said.finish === "length") return said;
  const call = { id: `call_sandbox_${step.called}`, name, arguments: withinRoom(args ?? "{}", roomIn(request)) };
  return { text: said.text, calls: [call], finish: "tool_calls" };
}

function planned({ calls, called, results }: Plan, request: SandboxRequest): SandboxAnswer {
  if (calls.length === 0 || request.tool_choice === "none")
    return bounded(
      results.length === 0
        ? "Nothing was called."
        : `${results.length === 1 ? "The tool" : "The tools"} said: ${results.map(({ content }) => textIn(content)).join(" | ")}`,
      request,
    );
  const said = bounded(`I call ${calls.map(({ name }) => name).join(" and ")}.`, request);
  if (said.finish === "length") return said;
  const samples = new Map<string, string>();
  const sampleFor = (name: string): string =>
    samples.getOrInsertComputed(name, () => sampleOfTool(offeredIn(request).find((tool) => tool["name"] === name)!));
  let room = roomIn(request);
  const made = calls.map(({ name, args }, index) => {
    const fitting = withinRoom(args ?? sampleFor(name), room);
    room -= fitting.length;
    return { id: `call_sandbox_${called + index}`, name, arguments: fitting };
  });
  return { text: said.text, calls: made, finish: "tool_calls" };
}

function offeredIn({ tools = [] }: SandboxRequest): readonly JsonObject[] {
  return tools.flatMap((tool) => (isObject(tool["function"]) ? [tool["function"]] : []));
}

function sampleOfTool(tool: JsonObject): string {
  return JSON.stringify(sampleOf(tool["parameters"] ?? { type: "object" }));
}

function withinRoom(args: string, room: number): string {
  return args.length <= room ? args : "{}";
}

function manyWords(count: number): string {
  const words = Math.min(MAX_WORDS, count);
  const others = WORDS.slice(0, words % WORDS.length).join(" ");
  return `${ALL_WORDS.repeat(Math.floor(words / WORDS.length))}${others}`.trimEnd();
}

function textOf(request: SandboxRequest): string {
  if (request.model === "json" || (request.model === "assistant" && asksForJson(request)))
    return JSON.stringify(jsonOf(request));
  const last = request.messages.at(-1);
  if ((request.model === "tools" || request.model === "assistant") && last?.role === "tool")
    return `The tool said: ${textIn(last.content)}`;
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

/**
 * Returns a call of the function that is forced, or else of the first that is offered. `null` when no function is
 * offered, when tool_choice is `none`, or when the conversation ends with a tool result.
 */
function firstCall(request: SandboxRequest): SandboxCall | null {
  if (request.tool_choice === "none" || request.messages.at(-1)?.role === "tool") return null;
  const offered = offeredIn(request);
  const forced =
    isObject(request.tool_choice) && isObject(request.tool_choice["function"])
      ? request.tool_choice["function"]["name"]
      : undefined;
  const chosen = forced === undefined ? offered[0] : offered.find((tool) => tool["name"] === forced);
  if (chosen === undefined) return null;
  return {
    id: "call_sandbox_0",
    name: chosen["name"] as string,
    arguments: withinRoom(sampleOfTool(chosen), roomIn(request)),
  };
}

function roomIn(request: SandboxRequest, most = MAX_REPEATED_CHARACTERS): number {
  return Math.min(most, Math.floor(MAX_CHARACTERS / (request.n ?? 1)));
}

/** Text that does not fit is cut off before it is searched, because it may be megabytes long. */
function bounded(whole: string, request: SandboxRequest, most?: number): SandboxAnswer {
  const room = roomIn(request, most);
  const stops = typeof request.stop === "string" ? [request.stop] : (request.stop ?? []);
  const stopped = stops.reduce(
    (text, stop) => {
      const at = stop === "" ? -1 : text.indexOf(stop);
      return at < 0 ? text : text.slice(0, at);
    },
    whole.slice(0, room),
  );
  const isCut = whole.length > room && stopped.length === room;
  const { end } = countWords(stopped, request.max_completion_tokens ?? request.max_tokens);
  return { text: stopped.slice(0, end), calls: [], finish: end < stopped.length || isCut ? "length" : "stop" };
}

/** The tokens of the whole conversation, however much of it the answer repeats. */
export function promptTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + countWords(textIn(message.content)).words, 0);
}

function lastUserText(messages: readonly Message[]): string {
  const last = messages.findLast((message) => message.role === "user") ?? messages.at(-1);
  return last === undefined ? "" : textIn(last.content);
}
