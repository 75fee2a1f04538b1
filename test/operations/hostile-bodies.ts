// Requests of every operation with as many kinds of members as it has, and what a hostile client can make of one: each
// place with a value of each wrong type, and texts that are no JSON.
import type { OperationName } from "../../src/core/operation.ts";
import type { Json, JsonObject } from "../../src/core/json.ts";

const TOOL_SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const MESSAGES: JsonObject = {
  model: "sandbox:echo",
  max_tokens: 50,
  system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
  messages: [
    { role: "user", content: "Weather?" },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I look." },
        { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Paris" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "sunny" }], is_error: false },
        { type: "text", text: "And here?" },
      ],
    },
  ],
  tools: [{ name: "weather", description: "d", input_schema: TOOL_SCHEMA }],
  tool_choice: { type: "auto", disable_parallel_tool_use: true },
  stop_sequences: ["END"],
  temperature: 0.5,
  top_p: 0.9,
  metadata: { user_id: "u1" },
};
const RESPONSES: JsonObject = {
  model: "sandbox:echo",
  instructions: "Be brief.",
  input: [
    { type: "message", role: "developer", content: [{ type: "input_text", text: "Mind the weather." }] },
    { role: "user", content: "Weather?" },
    { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Paris"}' },
    { type: "function_call_output", call_id: "call_1", output: "sunny" },
    {
      role: "user",
      content: [
        { type: "input_text", text: "And here?" },
        { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" },
      ],
    },
  ],
  tools: [{ type: "function", name: "weather", description: "d", parameters: TOOL_SCHEMA, strict: false }],
  tool_choice: "auto",
  parallel_tool_calls: true,
  text: { format: { type: "text" } },
  max_output_tokens: 50,
  temperature: 0.5,
  top_p: 0.9,
  store: false,
  metadata: { team: "search" },
  include: [],
  truncation: "disabled",
};

/** A request of each operation that the sandbox answers, or refuses for what it lacks. */
export const REQUESTS: Readonly<Record<OperationName, JsonObject>> = {
  "chat.completions": {
    model: "sandbox:echo",
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "sunny" },
      { role: "user", content: [{ type: "text", text: "Hello" }] },
    ],
    tools: [{ type: "function", function: { name: "weather", parameters: TOOL_SCHEMA } }],
    tool_choice: "none",
    response_format: { type: "text" },
    max_tokens: 50,
    temperature: 0.5,
    stop: ["END"],
    metadata: { team: "search" },
  },
  responses: RESPONSES,
  "responses.input_tokens": RESPONSES,
  messages: MESSAGES,
  "messages.count_tokens": MESSAGES,
  embeddings: { model: "sandbox:embed-4", input: ["one", "two"], encoding_format: "float", user: "u1" },
  completions: { model: "sandbox:echo", prompt: ["Once upon"], max_tokens: 5, temperature: 0.5, stop: ["END"], n: 1 },
  rerank: { model: "sandbox:rerank", query: "weather", documents: ["sun", { text: "rain" }], top_n: 1 },
  moderations: { model: "sandbox:moderation", input: ["one", "two"] },
  "tools.call": {
    type: "function_call",
    name: "docs__search",
    arguments: { text: "hello" },
    approved: false,
    can_ask: false,
  },
};

const WRONG: readonly Json[] = [
  null,
  true,
  -1,
  0.5,
  2 ** 60,
  "",
  "text",
  [],
  {},
  [[]],
  [null],
  { a: 1 },
  "x".repeat(300),
];
/** Texts that stand for themselves, because JSON.stringify cannot write them. */
const RAW: readonly string[] = [
  "NaN",
  "1e999",
  "Infinity",
  '"\\ud800"',
  "0".repeat(70),
  "[".repeat(100) + "]".repeat(100),
];

export interface HostileBody {
  readonly what: string;
  readonly body: string | Uint8Array;
  /** The member of the body that is wrong; `null` where it is no JSON or may be right. */
  readonly at: string | null;
}

const MARK = "place of a raw text";

export function* hostileBodies(right: JsonObject): Generator<HostileBody> {
  const text = JSON.stringify(right);
  for (const path of pathsOf(right)) {
    const what = path.join(".");
    const at = String(path[0]);
    for (const wrong of WRONG)
      yield {
        what: `${what} is ${JSON.stringify(wrong).slice(0, 20)}`,
        body: JSON.stringify(placed(right, path, wrong)),
        at,
      };
    // the stub of the gateway cannot copy a record with numbers of any length in its metadata
    for (const raw of path[0] === "metadata" ? [] : RAW) {
      const body = JSON.stringify(placed(right, path, MARK)).replace(JSON.stringify(MARK), raw);
      yield { what: `${what} is ${raw.slice(0, 20)}`, body, at: null };
    }
    yield { what: `${what} is left out`, body: JSON.stringify(placed(right, path, undefined)), at: null };
  }
  const name = Object.keys(right).at(-1)!;
  yield { what: `${name} twice`, body: `${text.slice(0, -1)},"${name}":1}`, at: name };
  for (const key of ["__proto__", "constructor", "toString", "then", "\\u0000", ""])
    yield { what: `a member called ${key}`, body: `${text.slice(0, -1)},"${key}":{"a":[1]}}`, at: null };
  yield {
    what: "invalid UTF-8",
    body: Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.from([0xff, 0xfe, 0x7d])]),
    at: null,
  };
  for (const whole of [
    "",
    "{",
    "[]",
    "null",
    '"text"',
    "1",
    `${text}}`,
    text.slice(0, -1),
    `${text}${text}`,
    "\ufeff{}",
    "{'a':1}",
  ])
    yield { what: `the whole is ${whole.slice(0, 20)}`, body: whole, at: null };
}

/** Bodies with lists of so many items, one for each list of the request. */
export function longBodies(right: JsonObject, length: number): readonly HostileBody[] {
  return [...pathsOf(right)].flatMap((path): HostileBody[] => {
    const there = path.reduce<Json | undefined>((value, key) => (value as Record<string, Json>)[key], right);
    if (!Array.isArray(there) || there.length === 0) return [];
    const items = Array.from({ length }, () => there[0] as Json);
    const what = `${path.join(".")} has ${length} items`;
    return [{ what, body: JSON.stringify(placed(right, path, items)), at: String(path[0]) }];
  });
}

type Path = readonly (string | number)[];

function* pathsOf(value: Json, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value))
    yield* pathsOf(member as Json, [...path, Array.isArray(value) ? Number(key) : key]);
}

/** A copy with another value at a place; `undefined` leaves it out. */
function placed(whole: Json, [first, ...rest]: Path, value: Json | undefined): Json {
  if (first === undefined) return value!;
  const copy: Record<string | number, Json> | Json[] = Array.isArray(whole)
    ? [...(whole as Json[])]
    : { ...(whole as Record<string, Json>) };
  const members = copy as Record<string | number, Json>;
  if (rest.length === 0 && value === undefined) {
    if (Array.isArray(copy)) copy.splice(Number(first), 1);
    else delete members[first];
  } else members[first] = placed(members[first]!, rest, value);
  return copy;
}
