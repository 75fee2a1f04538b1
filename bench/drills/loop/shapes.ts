// What `npm run drill:loop` sends: requests at the bounds of promise 5.8 and beyond them, long requests that are
// allowed, and requests that an upstream answers with megabytes.

export interface LoopShape {
  readonly title: string;
  /** Called when the shape's turn comes, because all bodies together would not fit into memory. */
  readonly body: () => string;
  /** Whose token the request carries; the developer's if left out. */
  readonly caller?: "developer" | "viewer" | "endpoint" | "admin" | "keeper";
  readonly path?: string;
  /** POST if left out. GET has no body. */
  readonly method?: "GET" | "POST" | "PUT";
  /** What has to be there first. It is not measured, and happens once where several shapes need it. */
  readonly before?: Prepare;
  /** Additional headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The status that it has to be answered with, and the code of the error; 200 if left out. */
  readonly answer?: string;
}

export type Prepare = (ask: (shape: LoopShape) => Promise<{ readonly answer: string }>) => Promise<void>;

const MESSAGES = '"messages":[{"role":"user","content":"Hello"}]';
const many = (length: number, item: (index: number) => string): string =>
  Array.from({ length }, (_, index) => item(index)).join(",");
const body = (members: string, model = "up:m"): string => `{"model":"${model}",${MESSAGES},${members}}`;
const conversation = (messages: string, more = "", model = "up:m"): string =>
  `{"model":"${model}","messages":[${messages}]${more}}`;
const saying = (content: string, model = "up:m", more = ""): string =>
  conversation(`{"role":"user","content":${content}}`, more, model);
const message = '{"role":"user","content":"x"}';
const part = '{"type":"text","text":"x"}';
const MB = 1_000_000;
const text = (bytes: number, unit = "The quick brown fox jumps over the lazy dog. "): string =>
  `"${unit.repeat(Math.ceil(bytes / Buffer.byteLength(unit)))}"`;
const image = (bytes: number): string =>
  `[{"type":"text","text":"See."},{"type":"image_url","image_url":{"url":"data:image/png;base64,${"iVBORw0KGgoAAAANSUhEUgAA".repeat(bytes / 24)}"}}]`;
const file = (bytes: number): string =>
  `[{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,${"VGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyLiA=".slice(0, 40).repeat(bytes / 40)}"}}]`;
const SERVER = ',"tools":[{"type":"mcp","server_label":"local"}]';
/** A turn with a call that the client has approved, so that it runs before the first round. */
const APPROVED =
  '{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"local__echo","arguments":"{\\"text\\":\\"x\\"}"}}]}';
const approved = (content: string): string =>
  conversation(
    `{"role":"user","content":${content}},${APPROVED}`,
    ',"tools":[{"type":"mcp","server_label":"local","require_approval":"never"}]',
  );
const tool = (index: number): string =>
  `{"type":"function","function":{"name":"f${index}","description":"${"d".repeat(100)}","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}}`;
const round = (index: number): string =>
  `{"role":"assistant","content":null,"tool_calls":[{"id":"c${index}","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c${index}","content":"x"}`;
const named = (name: string, parameters = "{}"): string =>
  `{"type":"function","function":{"name":"${name}","parameters":${parameters}}}`;
const answering = (schema: string): string =>
  body(`"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":${schema}}}`, "sandbox:json");
/** Returns the members of a schema of nested arrays with eight items each; `arrays` is the depth. */
const eightfold = (arrays: number, items: string): string =>
  `"type":"array","minItems":8,"items":${arrays === 1 ? items : `{${eightfold(arrays - 1, items)}}`}`;
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

/** Requests beyond the bounds of promise 5.8. */
const refused = (shapes: readonly LoopShape[]): readonly LoopShape[] =>
  shapes.map((shape) => ({ answer: "400 invalid_request", ...shape }));

export const REQUESTS: readonly LoopShape[] = [
  ...refused([
    { title: "1,000,000 unknown members", body: () => body(many(1_000_000, (index) => `"k${index}":1`)) },
    {
      title: "the same, of a viewer",
      body: () => body(many(1_000_000, (index) => `"k${index}":1`)),
      caller: "viewer",
      answer: "403 insufficient_role",
    },
    { title: "100,000 unknown members", body: () => body(many(100_000, (index) => `"k${index}":1`)) },
    { title: "3,500,000 numbers", body: () => body(`"x":[${"1,".repeat(3_500_000)}1]`) },
    {
      title: "1,400,000 numbers of 20 digits",
      body: () => body(`"x":[${"12345678901234567890,".repeat(1_400_000)}1]`),
    },
    {
      title: "context_window_fallback_dict of 700,000",
      body: () => body(`"context_window_fallback_dict":{${many(700_000, (index) => `"a:${index}":"up:m"`)}}`),
    },
    { title: "logit_bias of 700,000", body: () => body(`"logit_bias":{${many(700_000, (index) => `"${index}":1`)}}`) },
    {
      title: "300,000 tools",
      body: () => body(`"tools":[${many(300_000, () => '{"type":"function","function":{"name":"f"}}')}]`),
    },
    { title: "400,000 messages", body: () => conversation(many(400_000, () => message)) },
    { title: "600,000 parts", body: () => saying(`[${many(600_000, () => part)}]`) },
    { title: "a model name of 30 MB", body: () => body('"n":1', "m".repeat(30 * MB)) },
    { title: "1,000,000 fallbacks", body: () => body(`"fallbacks":[${many(1_000_000, (index) => `"up:${index}"`)}]`) },
    { title: "a number of 30,000,000 digits", body: () => body(`"seed":${"1".repeat(30 * MB)}`) },
    { title: "10,000,000 levels", body: () => body(`"x":${"[".repeat(10 * MB)}`) },
    { title: "30 MB that are no JSON", body: () => "a".repeat(30 * MB), answer: "400 invalid_json" },
    { title: "30 MB of spaces", body: () => body(`"x":${" ".repeat(30 * MB)}1`) },
    {
      title: "30 MB, and a fault at the end",
      body: () => `${saying(text(30 * MB)).slice(0, -1)},nope}`,
      answer: "400 invalid_json",
    },
  ]),
  // at the bounds
  { title: "10,000 unknown members", body: () => body(many(9997, (index) => `"k${index}":1`)) },
  {
    title: "25 objects of 10,000 members",
    body: () => body(many(24, (object) => `"x${object}":{${many(10_000, (index) => `"k${object}_${index}":1`)}}`)),
  },
  { title: "249,000 numbers", body: () => body(`"x":[${"1,".repeat(249_000)}1]`) },
  { title: "249,000 numbers of 64 digits", body: () => body(`"x":[${many(249_000, () => "1".repeat(64))}]`) },
  {
    title: "249,000 numbers of 17 digits",
    body: () => body(`"x":[${many(249_000, (index) => `0.${String(10_000_000_000_000_000 + index * 7919)}`)}]`),
  },
  { title: "249,000 short texts", body: () => body(`"x":[${many(249_000, (index) => `"a${index}"`)}]`) },
  { title: "249,000 empty objects", body: () => body(`"x":[${many(249_000, () => "{}")}]`) },
  { title: "64 levels, 3,000 times", body: () => body(`"x":[${many(3000, () => deep(62))}]`) },
  { title: "logit_bias of 10,000", body: () => body(`"logit_bias":{${many(10_000, (index) => `"${index}":1`)}}`) },
  { title: "2,048 tools", body: () => body(`"tools":[${many(2048, tool)}]`) },
  { title: "2,048 tools, translated", body: () => body(`"tools":[${many(2048, tool)}]`, "claude:claude-sonnet-4-5") },
  { title: "10,000 messages", body: () => conversation(many(10_000, () => message)) },
  {
    title: "10,000 messages with calls, translated",
    body: () => conversation(`${message},${many(4999, round)}`, "", "claude:claude-sonnet-4-5"),
  },
  {
    title: "10,000 parts in each of 8 messages",
    body: () => conversation(many(8, () => `{"role":"user","content":[${many(10_000, () => part)}]}`)),
  },
  {
    title: "the same, translated",
    body: () =>
      conversation(
        many(8, () => `{"role":"user","content":[${many(10_000, () => part)}]}`),
        "",
        "claude:claude-sonnet-4-5",
      ),
  },
  {
    title: "32 fallbacks beside 500 KB of parameters",
    body: () =>
      body(`"fallbacks":[${many(32, (index) => `{"model":"up:${index}","seed":${index}}`)}],"stop":${text(500_000)}`),
  },
  {
    title: "context_window_fallback_dict of 10,000",
    body: () => body(`"context_window_fallback_dict":{${many(10_000, (index) => `"up:${index}":"up:m"`)}}`),
  },
  // long, and allowed
  { title: "30 MB of text", body: () => saying(text(30 * MB)) },
  { title: "30 MB of text, streamed", body: () => saying(text(30 * MB), "up:m", ',"stream":true') },
  { title: "30 MB of text, translated", body: () => saying(text(30 * MB), "claude:claude-sonnet-4-5") },
  { title: "30 MB of text, signed", body: () => saying(text(30 * MB), "aws:anthropic.claude-opus-4-5") },
  { title: "30 MB of Cyrillic", body: () => saying(text(30 * MB, "Съешь же ещё этих мягких французских булок. ")) },
  { title: "30 MB of escaped line breaks", body: () => saying(`"${"\\n".repeat(15 * MB)}"`) },
  { title: "30 MB of escaped quotes", body: () => saying(`"${'\\"'.repeat(15 * MB)}"`) },
  {
    title: "30 MB of escaped letters, translated",
    body: () => saying(`"${"\\u00e9".repeat(5 * MB)}"`, "gemini:gemini-2.5-pro"),
  },
  { title: "an image of 30 MB", body: () => saying(image(30 * MB)) },
  { title: "an image of 30 MB, translated", body: () => saying(image(30 * MB), "claude:claude-sonnet-4-5") },
  {
    title: "2,000 messages of 15 KB",
    body: () => conversation(many(2000, () => `{"role":"user","content":${text(15_000)}}`)),
  },
  {
    title: "60 images of 500 KB",
    body: () => conversation(many(60, () => `{"role":"user","content":${image(499_992)}}`)),
  },
  { title: "1 MB of text", body: () => saying(text(MB)) },
  { title: "250 KB of text", body: () => saying(text(250_000)) },
  // searched by the guard of the policy `guarded`
  { title: "30 MB of text, guarded", body: () => saying(text(30 * MB), "up:m", ',"user":"guarded"') },
  {
    title: "30 MB of text, guarded, translated",
    body: () => saying(text(30 * MB), "claude:claude-sonnet-4-5", ',"user":"guarded"'),
  },
  {
    title: "30 MB of escaped quotes, guarded",
    body: () => saying(`"${'\\"'.repeat(15 * MB)}"`, "up:m", ',"user":"guarded"'),
  },
  {
    title: "2,000 messages of 15 KB, guarded",
    body: () =>
      conversation(
        many(2000, () => `{"role":"user","content":${text(15_000)}}`),
        ',"user":"guarded"',
      ),
  },
  {
    title: "9,999 messages of 600 bytes, guarded",
    body: () =>
      conversation(
        many(9_999, () => `{"role":"user","content":${text(600)}}`),
        ',"user":"guarded"',
      ),
  },
  { title: "an image of 30 MB, guarded", body: () => saying(image(30 * MB), "up:m", ',"user":"guarded"') },
  {
    title: "a text file of 20 MB, guarded",
    body: () => saying(file(20 * MB), "up:m", ',"user":"guarded"'),
  },
  {
    title: "1,000,000 addresses of e-mail, guarded",
    body: () => saying(text(22 * MB, "ada@mail.example.org, "), "up:m", ',"user":"guarded"'),
    // more matches than can be masked
    answer: "403 policy_violation",
  },
  {
    title: "99,000 addresses of e-mail in 21 MB, guarded",
    body: () => saying(text(21 * MB, `ada@mail.example.org, ${"and so on, ".repeat(18)}`), "up:m", ',"user":"guarded"'),
  },
  {
    title: "249,000 short texts, guarded",
    body: () => body(`"user":"guarded","x":[${many(249_000, (index) => `"a${index}"`)}]`),
  },
  { title: "500 KB of text, guarded", body: () => saying(text(500_000), "up:m", ',"user":"guarded"') },
  {
    title: "20,000 addresses of e-mail, guarded",
    body: () => saying(text(440_000, "ada@mail.example.org, "), "up:m", ',"user":"guarded"'),
  },
  {
    title: "500 KB of digits, guarded",
    body: () => saying(text(500_000, "4111 1111 "), "up:m", ',"user":"guarded"'),
  },
  {
    title: "60,000 short texts, guarded",
    body: () => body(`"user":"guarded","x":[${many(60_000, (index) => `"${index}"`)}]`),
  },
  {
    title: "10,000 parts in one message, guarded",
    body: () => saying(`[${many(10_000, () => part)}]`, "up:m", ',"user":"guarded"'),
  },
  { title: "2,048 tools, guarded", body: () => body(`"user":"guarded","tools":[${many(2048, tool)}]`) },
  {
    title: "32 fallbacks beside 490 KB of parameters, guarded",
    body: () =>
      body(
        `"user":"guarded","fallbacks":[${many(32, (index) => `{"model":"up:${index}","seed":${index}}`)}],"stop":${text(490_000)}`,
      ),
  },
  // of a project that keeps content
  { title: "30 MB of text, kept", body: () => saying(text(30 * MB)), caller: "keeper" },
  { title: "30 MB of escaped quotes, kept", body: () => saying(`"${'\\"'.repeat(15 * MB)}"`), caller: "keeper" },
  {
    title: "2,000 messages of 15 KB, kept",
    body: () => conversation(many(2000, () => `{"role":"user","content":${text(15_000)}}`)),
    caller: "keeper",
  },
  { title: "an image of 30 MB, kept", body: () => saying(image(30 * MB)), caller: "keeper" },
  { title: "500 KB of text, kept", body: () => saying(text(500_000)), caller: "keeper" },
  // with tools that the gateway runs
  { title: "30 MB of text, with a tool server", body: () => saying(text(30 * MB), "up:m", SERVER) },
  {
    title: "30 MB of escaped quotes, with a tool server",
    body: () => saying(`"${'\\"'.repeat(15 * MB)}"`, "up:m", SERVER),
  },
  { title: "30 MB of text, with an approved call", body: () => approved(text(30 * MB)) },
  { title: "30 MB of escaped quotes, with an approved call", body: () => approved(`"${'\\"'.repeat(15 * MB)}"`) },
  {
    title: "2,000 messages of 15 KB, with a tool server",
    body: () =>
      conversation(
        many(2000, () => `{"role":"user","content":${text(15_000)}}`),
        SERVER,
      ),
  },
  // answered by the sandbox, in the process
  { title: "30 MB of text, to the sandbox", body: () => saying(text(30 * MB), "sandbox:echo") },
  {
    title: "30 MB of escaped quotes, to the sandbox",
    body: () => saying(`"${'\\"'.repeat(15 * MB)}"`, "sandbox:echo"),
  },
  {
    title: "20 objects of 9,999 members, to the sandbox",
    body: () =>
      `{"model":"sandbox:echo",${MESSAGES},"x":[${many(20, () => `{${many(9_999, (index) => `"k${index}":1`)}}`)}]}`,
  },
  { title: "250,000 words, to the sandbox", body: () => saying(`"${"a ".repeat(250_000)}"`, "sandbox:echo") },
  {
    title: "249,000 numbers, to the sandbox",
    body: () => body(`"x":[${"1,".repeat(249_000)}1]`, "sandbox:echo"),
  },
  {
    title: "8,000 planned calls with broken arguments, to the sandbox",
    body: () => saying(`"${"call f {[}".repeat(8000)}"`, "sandbox:tools", `,"tools":[${named("f")}]`),
  },
  {
    title: "8,000 planned calls beside 2,048 tools, to the sandbox",
    body: () =>
      saying(
        `"${"call zz ".repeat(8000)}"`,
        "sandbox:tools",
        `,"tools":[${many(2048, (index) => named(`f${index}`))}]`,
      ),
  },
  {
    title: "8,000 planned calls of a large value, to the sandbox",
    body: () =>
      saying(
        `"${"call f, ".repeat(8000)}"`,
        "sandbox:tools",
        `,"tools":[${named("f", `{"type":"object","required":["a"],"properties":{"a":{"const":${text(50_000)}}}}`)}]`,
      ),
  },
  {
    title: "10,000 parts that plan nothing beside 2,048 tools, to the sandbox",
    body: () =>
      saying(
        `[${many(5000, () => '{"type":"text","text":"call zz call zz"}')}]`,
        "sandbox:tools",
        `,"tools":[${many(2048, (index) => named(`f${index}`))}]`,
      ),
  },
  {
    title: "a value of a schema with an object of 9,000 members at each place, to the sandbox",
    body: () =>
      answering(
        `{"$defs":{"a":{"type":"object","properties":{${many(9000, (index) => `"k${index}":{}`)}}}},${eightfold(3, '{"$ref":"#/$defs/a"}')}}`,
      ),
  },
  {
    title: "the same with a choice at each place, to the sandbox",
    body: () =>
      answering(
        `{"$defs":{"a":{"anyOf":[{"type":"array","minItems":8,"items":{"$ref":"#/$defs/a"}}],${many(9000, (index) => `"k${index}":1`)}}},"$ref":"#/$defs/a"}`,
      ),
  },
  {
    title: "a value of a schema with a constant of 400 KB at each place, to the sandbox",
    body: () => answering(`{${eightfold(3, `{"const":${text(400_000)}}`)}}`),
  },
  {
    title: "a value of a schema with a reference of 400 KB at each place, to the sandbox",
    body: () => answering(`{${eightfold(3, `{"$ref":"#${"/a".repeat(200_000)}"}`)}}`),
  },
  {
    title: "5,000 stop sequences, to the sandbox",
    body: () =>
      saying(
        `"${"a".repeat(200_000)}"`,
        "sandbox:echo",
        `,"stop":[${many(5000, (index) => `"${"a".repeat(40)}b${index}"`)}]`,
      ),
  },
  {
    title: "128 times 500 KB of quotes, to the sandbox",
    body: () => saying(`"${'\\"'.repeat(250_000)}"`, "sandbox:echo", ',"n":128'),
    answer: "502 upstream_invalid_response",
  },
  {
    title: "4 stop sequences of 100 KB, to the sandbox",
    body: () =>
      saying(
        `"${"a".repeat(100_000)}"`,
        "sandbox:echo",
        `,"stop":[${many(4, (index) => `"${"a".repeat(49_000)}b${index}"`)}]`,
      ),
  },
  { title: "100,000 words of the sandbox", body: () => body('"temperature":1', "sandbox:words-100000") },
  { title: "128 times 100,000 words of the sandbox", body: () => body('"n":128', "sandbox:words-100000") },
  { title: "128 times 500 KB, to the sandbox", body: () => saying(text(500_000), "sandbox:echo", ',"n":128') },
  { title: "100,000 streamed words of the sandbox", body: () => body('"stream":true', "sandbox:words-100000") },
  {
    title: "128 times 10,000 streamed words of the sandbox",
    body: () => body('"stream":true,"n":128', "sandbox:words-10000"),
  },
  // explanations, other paths and addresses, and deep work on parts of a request
  {
    title: "explained, 30 MB of text",
    body: () => saying(text(30 * MB)),
    answer: "400 invalid_request",
    headers: { "x-gateway-explain": "true" },
    caller: "endpoint",
  },
  {
    title: "explained, 2 MB of text, guarded",
    body: () => saying(text(2_090_000), "up:m", ',"user":"guarded"'),
    headers: { "x-gateway-explain": "true" },
    caller: "endpoint",
  },
  {
    title: "explained, 2 MB of text",
    body: () => saying(text(2 * MB)),
    headers: { "x-gateway-explain": "true" },
    caller: "endpoint",
  },
  {
    title: "explained, 2 MB of escaped quotes, translated",
    body: () => saying(`"${'\\"'.repeat(MB)}"`, "claude:claude-sonnet-4-5"),
    headers: { "x-gateway-explain": "true" },
    caller: "endpoint",
  },
  {
    title: "explained, 249,000 numbers",
    body: () => body(`"x":[${"1,".repeat(249_000)}1]`),
    headers: { "x-gateway-explain": "true" },
    caller: "endpoint",
  },
  {
    title: "explained, 60 KB of text and 32 fallbacks",
    body: () =>
      saying(text(60_000), "up:m", `,"fallbacks":[${many(32, (index) => `{"model":"up:${index}","seed":${index}}`)}]`),
    headers: { "x-gateway-explain": "true" },
    caller: "endpoint",
  },
  {
    title: "explained, 2 MB of text and 64 secrets",
    body: () =>
      saying(
        text(2 * MB - 8000),
        "up:m",
        `,"x":{${many(64, (index) => `"password_${index}":"The quick brown ${index}"`)}}`,
      ),
    headers: { "x-gateway-explain": "true" },
    caller: "endpoint",
  },
  {
    title: "explained, 10,000 messages",
    body: () => conversation(many(10_000, () => message)),
    headers: { "x-gateway-explain": "true" },
    caller: "endpoint",
  },
  {
    title: "30 MB to an operation that is not served",
    body: () => saying(text(30 * MB)),
    path: "/api/v1/assistants",
    answer: "501 not_implemented",
  },
  {
    title: "30 MB of text, to an address of the caller's",
    body: () => saying(text(30 * MB), "custom:m", ',"base_url":"http://127.0.0.1:9/v1","api_key":"x"'),
    caller: "endpoint",
    answer: "502 upstream_connection",
  },
  {
    title: "extra_body of 9,999 members",
    body: () => body(`"extra_body":{${many(9_990, (index) => `"k${index}":1`)}}`),
  },
  {
    title: "headers of 9,999 members",
    body: () => body(`"headers":{${many(9_990, (index) => `"x-k${index}":"1"`)}}`),
    answer: "403 permission_required",
  },
  {
    title: "model_list of 10,000",
    body: () =>
      body(`"model_list":[${many(9_999, (index) => `{"model_name":"m","params":{"model":"up:${index}"}}`)}]`, "m"),
    caller: "endpoint",
    answer: "400 invalid_request",
  },
  ...["gemini:gemini-2.5-pro", "claude:claude-sonnet-4-5", "aws:anthropic.claude-opus-4-5"].map((model) => ({
    title: `a schema whose references fan out, ${model}`,
    body: () =>
      body(
        `"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"$defs":{${many(40, (index) => `"a${index}":{"type":"object","properties":{"x":{"$ref":"#/$defs/a${index + 1}"},"y":{"$ref":"#/$defs/a${index + 1}"}}}`)},"a40":{"type":"string"}},"$ref":"#/$defs/a0"}}}`,
        model,
      ),
  })),
  ...["gemini:gemini-2.5-pro", "claude:claude-sonnet-4-5", "aws:anthropic.claude-opus-4-5"].map((model) => ({
    title: `a schema of 9,000 members that is referred to 2,000 times, ${model}`,
    body: () =>
      body(
        `"tools":[${named("f", `{"type":"object","$defs":{"a":{"type":"object","properties":{${many(9_000, (index) => `"k${index}":{}`)}}}},"properties":{${many(2_000, (index) => `"p${index}":{"$ref":"#/$defs/a"}`)}}}`)}]`,
        model,
      ),
  })),
  {
    title: "128 calls of 490 KB of quotes",
    body: () => saying(`"${'\\"'.repeat(245_000)}"`, "ollama:llama3", ',"n":128'),
  },
  {
    title: "128 calls of 5,000 messages",
    body: () =>
      conversation(
        many(5000, () => message),
        ',"n":128',
        "ollama:llama3",
      ),
  },
  {
    title: "128 calls of 10 MB of text",
    body: () => saying(text(10 * MB), "ollama:llama3", ',"n":128'),
  },
  ...["gemini:gemini-2.5-pro", "cohere:command-a-03-2025", "ollama:llama3", "prompts:m"].flatMap((model) => [
    { title: `490 KB of quotes, ${model}`, body: () => saying(`"${'\\"'.repeat(245_000)}"`, model) },
    {
      title: `5,000 messages with calls, ${model}`,
      body: () => conversation(`${message},${many(2499, round)}`, "", model),
      ...(model === "prompts:m" && { answer: "400 unsupported_value" }),
    },
    {
      title: `2,048 tools, ${model}`,
      body: () => body(`"tools":[${many(2048, tool)}]`, model),
      ...(model === "prompts:m" && { answer: "400 unsupported_parameter" }),
    },
    {
      title: `a schema of 60,000 values, ${model}`,
      body: () =>
        body(
          `"response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":{"type":"object","properties":{${many(9_000, (index) => `"k${index}":{"type":"string","enum":["a","b"]}`)}}}}}`,
          model,
        ),
    },
  ]),
  {
    title: "a document of the admin API, 30 MB of text",
    body: () => `{"name":${text(30 * MB)}}`,
    path: "/api/v1/admin/projects/default/routes",
    caller: "admin",
    answer: "413 body_too_large",
  },
  {
    title: "a document of the admin API, 1 MB in 200,000 values",
    body: () => `{"name":"x","targets":[${"1,".repeat(200_000)}1]}`,
    path: "/api/v1/admin/projects/default/routes",
    caller: "admin",
    answer: "400 invalid_request",
  },
  {
    title: "a document of the admin API, 100,000 members",
    body: () => `{${many(90_000, (index) => `"k${index}":1`)}}`,
    path: "/api/v1/admin/projects/default/routes",
    caller: "admin",
    answer: "400 invalid_request",
  },
];

/** A request whose model selects the answer of the upstream. */
export interface AnsweredShape {
  readonly title: string;
  readonly model: string;
  readonly stream: boolean;
  /** "up" if left out. */
  readonly provider?: string;
  /** The JSON of additional members of the request. */
  readonly more?: string;
  readonly caller?: LoopShape["caller"];
  readonly answer?: string;
}

const PLAIN_ANSWERS = [
  { title: "an answer with 30 MB of text", model: "long-text", stream: false },
  { title: "an answer with 990,000 escapes", model: "long-escapes", stream: false },
  { title: "an answer of 170,000 objects", model: "short-objects", stream: false },
  { title: "an answer with 99,000 addresses of e-mail", model: "addresses", stream: false },
  { title: "an answer of 390,000 objects beside it", model: "objects", stream: false },
  { title: "an answer with 1,000 calls of 30 KB", model: "calls", stream: false },
  { title: "an answer of 10,000 numbers of 20 digits beside it", model: "some-long-numbers", stream: false },
  { title: "an answer with 2,000 tokens with 20 probabilities each", model: "probabilities", stream: false },
];
const LONG_LINES = [
  { title: "a streamed line of 15 MB", model: "line", stream: true },
  { title: "a streamed line of 7 MB with 990,000 escapes", model: "line-few-escapes", stream: true },
  { title: "a streamed line of 15 MB of accented letters", model: "line-accents", stream: true },
  { title: "100,000 streamed events at once", model: "events", stream: true },
  { title: "100,000 streamed pieces of reasoning", model: "reasoning", stream: true },
  { title: "a streamed call in 100,000 pieces", model: "call-pieces", stream: true },
  { title: "a streamed call of 7 MB in 30,000 pieces", model: "call-long-pieces", stream: true },
  { title: "a streamed call in 40,000 pieces beside another", model: "calls-in-turns", stream: true },
];
const beside = (shapes: readonly AnsweredShape[], words: string, more: Partial<AnsweredShape>): AnsweredShape[] =>
  shapes.map((shape) => ({ ...shape, ...more, title: `${shape.title}, ${words}` }));

/** Answers beyond the bounds of what a provider sends (docs/api.md). */
const malformed = (shapes: readonly AnsweredShape[]): readonly AnsweredShape[] =>
  shapes.map((shape) => ({ ...shape, answer: "502 upstream_invalid_response" }));

export const ANSWERED: readonly AnsweredShape[] = [
  { title: "an answer with 30 MB of text", model: "long-text", stream: false },
  { title: "an answer with 990,000 escapes", model: "long-escapes", stream: false },
  { title: "an answer of 390,000 objects", model: "objects", stream: false },
  { title: "an answer of 170,000 objects", model: "short-objects", stream: false },
  ...malformed([
    { title: "an answer with 30 MB of escapes", model: "many-escapes", stream: false },
    { title: "an answer of 999,000 objects", model: "many-objects", stream: false },
    { title: "an answer of 1,000,000 members", model: "members", stream: false },
    { title: "an answer of 3,000,000 numbers", model: "numbers", stream: false },
    { title: "an answer of 390,000 numbers of 20 digits", model: "long-numbers", stream: false },
    { title: "a streamed line of 15 MB of escapes", model: "line-escapes", stream: true },
    { title: "a streamed event of 990,000 objects", model: "event-objects", stream: true },
    { title: "a streamed event of 200,000 members", model: "event-members", stream: true },
  ]),
  {
    title: "an answer with 1,000,000 addresses of e-mail, guarded",
    model: "many-addresses",
    stream: false,
    more: ',"user":"guarded"',
    answer: "403 policy_violation",
  },
  { title: "an error body of 30 MB", model: "error", stream: false, answer: "400 upstream_invalid_request" },
  { title: "a streamed line of 15 MB", model: "line", stream: true },
  { title: "a streamed line of 7 MB with 990,000 escapes", model: "line-few-escapes", stream: true },
  { title: "a streamed line of 15 MB of accented letters", model: "line-accents", stream: true },
  { title: "a streamed event of 390,000 objects", model: "event-fewer-objects", stream: true },
  { title: "100,000 streamed events at once", model: "events", stream: true },
  { title: "100,000 streamed pieces of reasoning", model: "reasoning", stream: true },
  { title: "a streamed call in 100,000 pieces", model: "call-pieces", stream: true },
  { title: "a streamed call of 7 MB in 30,000 pieces", model: "call-long-pieces", stream: true },
  { title: "a streamed call in 40,000 pieces beside another", model: "calls-in-turns", stream: true },
  { title: "15 MB of empty streamed lines", model: "blank", stream: true },
  ...beside([...PLAIN_ANSWERS, ...LONG_LINES], "guarded", { more: ',"user":"guarded"' }),
  ...beside([...PLAIN_ANSWERS, ...LONG_LINES], "kept", { caller: "keeper" }),
  ...beside([...PLAIN_ANSWERS, ...LONG_LINES], "with a tool server", { more: SERVER }),
  ...beside(PLAIN_ANSWERS, "two choices in two calls", { provider: "ollama", more: ',"n":2' }),
  ...beside(PLAIN_ANSWERS, "two choices in two calls, guarded", {
    provider: "ollama",
    more: ',"n":2,"user":"guarded"',
  }),
  ...beside(PLAIN_ANSWERS, "with a tool server, guarded", { more: `${SERVER},"user":"guarded"` }),
  ...beside(PLAIN_ANSWERS, "wanted as a stream", { stream: true }),
  ...beside(PLAIN_ANSWERS, "wanted as a stream, guarded", { stream: true, more: ',"user":"guarded"' }),
];
