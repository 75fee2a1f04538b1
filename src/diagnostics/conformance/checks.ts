// The small calls of the conformance run, and what each answer has to satisfy. A check never depends on a model's
// abilities: where an answer does, its form is checked and not its content.
import { counted } from "../../core/text/counted.ts";
import type { Feature } from "../../core/capability.ts";
import { isObject, type Json, type JsonObject, jsonIn } from "../../core/json.ts";
import type { OperationName } from "../../core/operation.ts";
import type { Came, Caller, Choice } from "./caller.ts";

export interface Check {
  readonly id: string;
  readonly title: string;
  /** The check is not offered when the capability table lacks one of these features. */
  readonly needs: readonly Feature[];
  /** The check is not offered for a model with which the gateway does not serve this operation; chat completions, if left out. */
  readonly operation?: OperationName;
  readonly run: (caller: Caller, base: Base) => Promise<CheckVerdict>;
}

/** The fields that all calls of a run share. */
export interface Base extends JsonObject {
  readonly model: string;
}

export interface CheckVerdict {
  readonly came: Came | null;
  /** `null` when the check succeeded. */
  readonly fault: string | null;
  /** A short note for the table. */
  readonly note?: string;
}

const user = (content: Json): JsonObject => ({ role: "user", content });
const HELLO = [user("Say hello in one short sentence.")];
const COUNTING = [
  user(
    "Count from 1 to 500 in digits, one number a line, without a word before or after them, and do not stop before the end.",
  ),
];
const toolOfCity = (name: string, description: string): JsonObject => ({
  type: "function",
  function: {
    name,
    description,
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
  },
});
const WEATHER = toolOfCity("get_weather", "The weather in a city");
const CLOCK = toolOfCity("get_time", "The local time in a city");
const ASK_WEATHER = [user("What is the weather in Vienna? Use the tool.")];
const PLACE = {
  type: "json_schema",
  json_schema: {
    name: "place",
    strict: true,
    schema: {
      type: "object",
      properties: { city: { type: "string" }, country: { type: "string" } },
      required: ["city", "country"],
      additionalProperties: false,
    },
  },
} as const;
/** A red square of 64 by 64 pixels. */
const RED_SQUARE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+OdAAAAA1BMVEX/AAAZ4gk3AAAAD0lEQVR42mNgGAWjgLoAAAJAAAEXzRIkAAAAAElFTkSuQmCC";

/** Enough tokens for a model that reasons before it answers. */
const ROOM = { max_completion_tokens: 1024 };

const first = ({ choices }: Came): Choice | undefined => choices[0];

/** One call and the condition that its answer has to satisfy. The run itself reports a call that was refused. */
function check(
  id: string,
  title: string,
  needs: readonly Feature[],
  body: JsonObject,
  judge: (came: Came, choice: Choice) => string | null,
  note?: (came: Came, choice: Choice) => string,
): Check {
  return {
    id,
    title,
    needs,
    async run(caller, base) {
      const came = await caller.call({ ...base, ...ROOM, messages: HELLO, ...body });
      const choice = first(came);
      if (came.error !== null) return { came, fault: null };
      if (choice === undefined) return { came, fault: "the answer has no choice" };
      return { came, fault: judge(came, choice), ...(note !== undefined && { note: note(came, choice) }) };
    },
  };
}

const says = (_: Came, { text, calls }: Choice): string | null =>
  text.trim() === "" && calls.length === 0 ? "the answer is empty" : null;
const ends =
  (...reasons: readonly string[]) =>
  (_: Came, { finish }: Choice): string | null =>
    finish !== null && reasons.includes(finish)
      ? null
      : `the finish reason is ${JSON.stringify(finish)}, not ${reasons.join(" or ")}`;
const allOf =
  (...judges: readonly ((came: Came, choice: Choice) => string | null)[]) =>
  (came: Came, choice: Choice): string | null =>
    judges.map((judge) => judge(came, choice)).find((fault) => fault !== null) ?? null;
const streams = ({ done, events }: Came): string | null =>
  !done ? "the stream has no [DONE]" : events.length < 2 ? "the stream came in one piece" : null;

function callsOf(name: string | null) {
  return (_: Came, { calls }: Choice): string | null => {
    if (calls.length === 0) return "no tool was called";
    for (const call of calls) {
      if (call.id === "") return "a call has no id";
      if (name !== null && call.name !== name) return `${JSON.stringify(call.name)} was called`;
      const input = jsonIn(call.arguments);
      if (!isObject(input)) return `the arguments are not a JSON object: ${call.arguments.slice(0, 60)}`;
      if (typeof input["city"] !== "string") return "the arguments do not match the schema";
    }
    return null;
  };
}

const isJsonObject = (_: Came, { text }: Choice): string | null =>
  isObject(jsonIn(text)) ? null : `the content is not a JSON object: ${text.slice(0, 60)}`;
const fitsPlace = (_: Came, { text }: Choice): string | null => {
  const value = jsonIn(text);
  return isObject(value) && typeof value["city"] === "string" && typeof value["country"] === "string"
    ? null
    : `the content does not match the schema: ${text.slice(0, 60)}`;
};
const hasUsage = ({ usage, warnings }: Came): string | null => {
  if (usage === null) return "the answer has no usage";
  if (warnings.includes("usage_estimated")) return "the provider reports no usage; the figures are estimated";
  return usage.prompt > 0 && usage.completion > 0 && usage.total >= usage.prompt + usage.completion
    ? null
    : `the usage is ${usage.prompt} + ${usage.completion} = ${usage.total}`;
};
const usageWords = ({ usage }: Came): string =>
  usage === null ? "" : `${usage.prompt} + ${counted(usage.completion, "token")}`;
const wholeShape = ({ events }: Came): string | null => {
  const answer = events[0]!;
  const wrong = [
    typeof answer["id"] === "string" && answer["id"] !== "",
    answer["object"] === "chat.completion",
    typeof answer["created"] === "number",
    typeof answer["model"] === "string",
    answer["route"] === "direct",
    typeof answer["x_gateway_trace_id"] === "string",
  ].indexOf(false);
  return wrong < 0 ? null : `${["id", "object", "created", "model", "route", "x_gateway_trace_id"][wrong]} is missing`;
};
const oneRoleOneFinish = ({ events }: Came): string | null => {
  const deltas = events.flatMap((event) => (event["choices"] as readonly JsonObject[] | undefined) ?? []);
  const roles = deltas.filter((choice) => isObject(choice["delta"]) && choice["delta"]["role"] !== undefined).length;
  const finishes = deltas.filter((choice) => choice["finish_reason"] !== null).length;
  return roles === 1 && finishes === 1 ? null : `${counted(roles, "role")} and ${counted(finishes, "finish reason")}`;
};

const RESULT_TURNS = [
  ...ASK_WEATHER,
  {
    role: "assistant",
    content: null,
    tool_calls: [
      { id: "call_abc123def", type: "function", function: { name: "get_weather", arguments: '{"city":"Vienna"}' } },
    ],
  },
  { role: "tool", tool_call_id: "call_abc123def", content: "Sunny, 21 degrees" },
];

async function unknownModel(caller: Caller, base: Base): Promise<CheckVerdict> {
  const came = await caller.call({ ...base, model: `${base.model}-that-does-not-exist-0`, messages: HELLO, ...ROOM });
  if (came.error === null) return { came: null, fault: null, note: "the server accepts any model name" };
  const refused = { ...came, error: null };
  return came.status >= 400 && came.error.message !== ""
    ? { came: refused, fault: null, note: `${came.status} ${came.error.code}` }
    : { came: refused, fault: "the error has no message" };
}

/** Every provider's server has to end its work when the connection closes. */
async function cancel(caller: Caller, base: Base): Promise<CheckVerdict> {
  const tookMs = await caller.leave({ ...base, ...ROOM, messages: COUNTING });
  if (tookMs === null) return { came: null, fault: "the provider sent no stream to disconnect from" };
  return {
    came: null,
    fault: tookMs < 1000 ? null : `it took ${Math.round(tookMs)} ms to end`,
    note: `ended in ${Math.round(tookMs)} ms`,
  };
}

export const CHECKS: readonly Check[] = [
  check("plain", "answers a question", [], {}, allOf(says, ends("stop", "length"))),
  check("shape", "the answer has every field of the contract", [], {}, wholeShape),
  check("usage", "reports usage", [], {}, hasUsage, usageWords),
  check(
    "system",
    "takes a system message",
    [],
    { messages: [{ role: "system", content: "You are terse." }, ...HELLO] },
    says,
  ),
  check(
    "developer",
    "takes a developer message",
    [],
    { messages: [{ role: "developer", content: "You are terse." }, ...HELLO] },
    says,
  ),
  check(
    "turns",
    "takes earlier turns",
    [],
    { messages: [user("My name is Ada."), { role: "assistant", content: "Hello Ada." }, user("What is my name?")] },
    says,
  ),
  check(
    "parts",
    "takes text in several content parts",
    ["text"],
    {
      messages: [
        user([
          { type: "text", text: "Say hello" },
          { type: "text", text: "in one short sentence." },
        ]),
      ],
    },
    says,
  ),
  check(
    "unicode",
    "keeps letters of all scripts",
    [],
    { messages: [user("Repeat exactly: Grüße 世界 🙂 Ω")] },
    says,
    (_, { text }) =>
      ["Grüße", "世界", "🙂", "Ω"].every((word) => text.includes(word))
        ? "repeated exactly"
        : "the model answered something else",
  ),
  check(
    "long",
    "takes a prompt of several thousand words",
    [],
    {
      messages: [
        user(`${"The quick brown fox jumps over the lazy dog. ".repeat(400)}\nSay hello in one short sentence.`),
      ],
    },
    says,
    usageWords,
  ),
  check("stream", "streams", ["stream"], { stream: true }, allOf(streams, says, ends("stop", "length"))),
  check(
    "stream-grammar",
    "a stream has one role and one finish reason",
    ["stream"],
    { stream: true },
    oneRoleOneFinish,
  ),
  check(
    "stream-usage",
    "a stream ends with the usage",
    ["stream", "stream_options"],
    { stream: true, stream_options: { include_usage: true } },
    hasUsage,
    usageWords,
  ),
  check(
    "length",
    "stops at max_completion_tokens",
    ["max_completion_tokens"],
    { max_completion_tokens: 16, messages: COUNTING },
    ends("length"),
  ),
  check(
    "stream-length",
    "stops at max_completion_tokens in a stream",
    ["stream", "max_completion_tokens"],
    { stream: true, max_completion_tokens: 16, messages: COUNTING },
    ends("length"),
  ),
  check(
    "stop",
    "stops at a stop sequence",
    ["stop"],
    { stop: ["7"], messages: [user("Repeat exactly: 1 2 3 4 5 6 7 8 9")] },
    allOf(ends("stop"), (_, { text }) => (text.includes("7") ? "the stop sequence is in the answer" : null)),
  ),
  check("temperature", "takes temperature", ["temperature"], { temperature: 0.5 }, says),
  check("top-p", "takes top_p", ["top_p"], { top_p: 0.9 }, says),
  check("seed", "takes seed", ["seed"], { seed: 7 }, says),
  check(
    "penalties",
    "takes the penalties",
    ["presence_penalty", "frequency_penalty"],
    { presence_penalty: 0.1, frequency_penalty: 0.1 },
    says,
  ),
  check("n", "gives two choices", ["n"], { n: 2 }, ({ choices }) =>
    choices.length === 2 ? null : `${choices.length} came`,
  ),
  check(
    "logprobs",
    "gives log probabilities",
    ["logprobs", "top_logprobs"],
    { logprobs: true, top_logprobs: 2 },
    (_, { logprobs }) => (isObject(logprobs) ? null : "the answer has none"),
  ),
  check(
    "tools",
    "calls a tool",
    ["tools"],
    { tools: [WEATHER], messages: ASK_WEATHER },
    allOf(callsOf("get_weather"), ends("tool_calls", "stop")),
  ),
  check(
    "tool-required",
    "calls a tool when one is required",
    ["tools", "tool_choice"],
    { tools: [WEATHER, CLOCK], tool_choice: "required", messages: ASK_WEATHER },
    callsOf(null),
  ),
  check(
    "tool-forced",
    "calls the named tool",
    ["tools", "tool_choice"],
    {
      tools: [WEATHER, CLOCK],
      tool_choice: { type: "function", function: { name: "get_time" } },
      messages: ASK_WEATHER,
    },
    callsOf("get_time"),
  ),
  check(
    "tool-none",
    "calls no tool with tool_choice none",
    ["tools", "tool_choice"],
    { tools: [WEATHER], tool_choice: "none" },
    allOf(says, (_, { calls }) => (calls.length > 0 ? "a tool was called" : null)),
  ),
  check(
    "tools-parallel",
    "calls several tools at once",
    ["tools"],
    {
      tools: [WEATHER, CLOCK],
      messages: [
        user("What is the weather in Vienna, and what is the weather in Graz? Use the tools, both in one turn."),
      ],
    },
    callsOf(null),
    (_, { calls }) => `${calls.length} called`,
  ),
  check(
    "stream-tools",
    "streams a tool call",
    ["stream", "tools"],
    { stream: true, tools: [WEATHER], messages: ASK_WEATHER },
    callsOf("get_weather"),
  ),
  check(
    "tool-result",
    "continues after a tool's result",
    ["tools"],
    { tools: [WEATHER], messages: RESULT_TURNS },
    says,
  ),
  check(
    "json-object",
    "answers in JSON",
    ["response_format"],
    {
      response_format: { type: "json_object" },
      messages: [user("Answer as JSON: a JSON object with the capital of Austria.")],
    },
    isJsonObject,
  ),
  check(
    "json-schema",
    "answers in a schema",
    ["response_format"],
    { response_format: PLACE, messages: [user("Which city is the capital of Austria? Answer in JSON.")] },
    fitsPlace,
  ),
  check(
    "image",
    "takes a picture",
    ["image_url"],
    {
      messages: [
        user([
          { type: "text", text: "Which colour is this?" },
          { type: "image_url", image_url: { url: RED_SQUARE } },
        ]),
      ],
    },
    says,
    (_, { text }) => text.trim().slice(0, 40),
  ),
  check(
    "reasoning",
    "takes reasoning_effort",
    ["reasoning_effort"],
    { reasoning_effort: "low", max_completion_tokens: 4096 },
    says,
    (_, { reasoning }) => (reasoning === "" ? "no reasoning is shown" : "with its reasoning"),
  ),
  { id: "error-model", title: "an unknown model gives an error with a message", needs: [], run: unknownModel },
  { id: "cancel", title: "ends when the client disconnects", needs: ["stream"], run: cancel },
];
