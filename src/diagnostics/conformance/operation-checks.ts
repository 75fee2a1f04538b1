// The checks of the conformance run for operations that have a form of their own: the form of an answer, the grammar of a
// stream, and a call of a tool. The request asks for the provider's address in the way of all these operations.
import { isObject, type Json, type JsonObject, objectsIn } from "../../core/json.ts";
import type { Came, Caller } from "./caller.ts";
import { type Base, type Check, CHECKS, type CheckVerdict } from "./checks.ts";

const HELLO = "Say hello in one short sentence.";
const ASK_WEATHER = "What is the weather in Vienna? Use the tool.";
const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;
const ROOM = 1024;

/** The events of a stream, or the only object of another answer. */
type Judge = (events: readonly JsonObject[]) => string | null;

function check(
  operation: "responses" | "messages" | "completions",
  id: string,
  title: string,
  needs: Check["needs"],
  body: JsonObject,
  judge: Judge,
): Check {
  return {
    id,
    title,
    needs,
    operation,
    async run(caller: Caller, { model, ...own }: Base): Promise<CheckVerdict> {
      const came: Came = await caller.callAt(`/${operation}`, { model, ...body, x_gateway: own });
      return { came, fault: came.error === null ? judge(came.events) : null };
    },
  };
}

const typesOf = (events: readonly JsonObject[]): readonly (Json | undefined)[] => events.map(({ type }) => type);
const joined = (events: readonly JsonObject[], type: string): string =>
  events
    .flatMap((event) => (event["type"] === type && typeof event["delta"] === "string" ? [event["delta"]] : []))
    .join("");

function outputText(response: JsonObject): string {
  return objectsIn(response["output"])
    .flatMap(({ content }) => objectsIn(content))
    .flatMap(({ text }) => (typeof text === "string" ? [text] : []))
    .join("");
}

function isResponse(answer: JsonObject | undefined): string | null {
  if (answer?.["object"] !== "response") return "the answer is not a response";
  if (answer["status"] !== "completed" && answer["status"] !== "incomplete")
    return `it has the status ${JSON.stringify(answer["status"])}`;
  return objectsIn(answer["output"]).length === 0 ? "it has no output" : null;
}

const saysInResponse: Judge = ([answer]) =>
  isResponse(answer) ?? (outputText(answer!).trim() === "" ? "the answer is empty" : null);

const streamsResponse: Judge = (events) => {
  const types = typesOf(events);
  if (types[0] !== "response.created") return `the stream begins with ${JSON.stringify(types[0])}`;
  if (events.some((event, index) => event["sequence_number"] !== index)) return "the events are not numbered in order";
  const last = events.at(-1)!["response"];
  if (!isObject(last)) return `the stream ends with ${JSON.stringify(types.at(-1))}`;
  return (
    isResponse(last) ??
    (joined(events, "response.output_text.delta") === outputText(last)
      ? null
      : "the deltas are not the text of the response")
  );
};

const callsInResponse: Judge = ([answer]) =>
  isResponse(answer) ??
  (objectsIn(answer!["output"]).some(({ type, name }) => type === "function_call" && name === "get_weather")
    ? null
    : "no tool was called");

const contentOf = (message: JsonObject | undefined): readonly JsonObject[] => objectsIn(message?.["content"]);

function isMessage(answer: JsonObject | undefined): string | null {
  if (answer?.["type"] !== "message" || answer["role"] !== "assistant") return "the answer is not a message";
  return typeof answer["stop_reason"] === "string" ? null : "it has no stop reason";
}

const saysInMessage: Judge = ([answer]) =>
  isMessage(answer) ??
  (contentOf(answer).some(({ text }) => typeof text === "string" && text.trim() !== "") ? null : "the answer is empty");

const streamsMessage: Judge = (events) => {
  const types = typesOf(events).filter((type) => type !== "ping");
  if (types[0] !== "message_start") return `the stream begins with ${JSON.stringify(types[0])}`;
  if (types.at(-1) !== "message_stop") return `the stream ends with ${JSON.stringify(types.at(-1))}`;
  let open: Json | undefined;
  let blocks = 0;
  for (const { type, index } of events) {
    if (type === "content_block_start") {
      if (open !== undefined || index !== blocks) return "a block begins where none may";
      open = index;
      blocks++;
    } else if (type === "content_block_delta" || type === "content_block_stop") {
      if (index !== open) return "a block goes on that is not open";
      if (type === "content_block_stop") open = undefined;
    }
  }
  return blocks === 0 ? "the answer is empty" : open === undefined ? null : "the last block has no end";
};

const callsInMessage: Judge = ([answer]) =>
  isMessage(answer) ??
  (contentOf(answer).some(({ type, name }) => type === "tool_use" && name === "get_weather")
    ? null
    : "no tool was called");

const textsOf = (events: readonly JsonObject[]): string =>
  events
    .flatMap(({ choices }) => objectsIn(choices))
    .flatMap(({ text }) => (typeof text === "string" ? [text] : []))
    .join("");

const isCompletion = (answer: JsonObject | undefined): string | null =>
  answer?.["object"] === "text_completion" ? null : "the answer is not a completion";

const goesOn: Judge = ([answer]) =>
  isCompletion(answer) ??
  (typeof objectsIn(answer!["choices"])[0]?.["finish_reason"] !== "string"
    ? "it has no finish reason"
    : textsOf([answer!]) === ""
      ? "the answer is empty"
      : null);

const streamsCompletion: Judge = (events) => {
  const other = events.map(isCompletion).find((fault) => fault !== null);
  if (other !== undefined) return other;
  const ends = events.flatMap(({ choices }) => objectsIn(choices)).filter((one) => one["finish_reason"] !== null);
  if (ends.length !== 1) return `the stream has ${ends.length} finish reasons`;
  return textsOf(events) === "" ? "the answer is empty" : null;
};

const RESPONSE = { input: HELLO, max_output_tokens: ROOM, store: false };
const COMPLETION = { prompt: "Once upon a time, in a small house,", max_tokens: 32 };
const MESSAGE = { messages: [{ role: "user", content: HELLO }], max_tokens: ROOM };

/** Those of chat completions, then those of the other operations. */
export const ALL_CHECKS: readonly Check[] = [
  ...CHECKS,
  check("responses", "responses", "answers as a response", [], RESPONSE, saysInResponse),
  check(
    "responses",
    "responses-stream",
    "streams a response",
    ["stream"],
    { ...RESPONSE, stream: true },
    streamsResponse,
  ),
  check(
    "responses",
    "responses-tools",
    "calls a tool in a response",
    ["tools"],
    {
      ...RESPONSE,
      input: ASK_WEATHER,
      tools: [{ type: "function", name: "get_weather", description: "The weather in a city", parameters: SCHEMA }],
    },
    callsInResponse,
  ),
  check("messages", "messages", "answers as a message", [], MESSAGE, saysInMessage),
  check("messages", "messages-stream", "streams a message", ["stream"], { ...MESSAGE, stream: true }, streamsMessage),
  check(
    "messages",
    "messages-tools",
    "calls a tool in a message",
    ["tools"],
    {
      ...MESSAGE,
      messages: [{ role: "user", content: ASK_WEATHER }],
      tools: [{ name: "get_weather", description: "The weather in a city", input_schema: SCHEMA }],
    },
    callsInMessage,
  ),
  check("completions", "completions", "continues a raw prompt", [], COMPLETION, goesOn),
  check(
    "completions",
    "completions-stream",
    "streams a completion",
    ["stream"],
    { ...COMPLETION, stream: true },
    streamsCompletion,
  ),
];
