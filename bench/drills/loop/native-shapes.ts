// What `npm run drill:loop` sends in the forms of Messages and Responses, to models that speak them: long bodies, short
// ones that are full of values, both under guards, and requests that are answered with megabytes.
import type { LoopShape } from "./shapes.ts";

const MB = 1_000_000;
const many = (length: number, item: (index: number) => string): string =>
  Array.from({ length }, (_, index) => item(index)).join(",");
const text = (bytes: number, unit = "The quick brown fox jumps over the lazy dog. "): string =>
  `"${unit.repeat(Math.ceil(bytes / unit.length))}"`;

interface Form {
  readonly name: string;
  readonly path: string;
  readonly body: (content: string, more?: string, model?: string) => string;
  /** An item of the conversation. */
  readonly item: (index: number) => string;
  /** Where the form says who the end user is, for whom a guard searches requests. */
  readonly guarded: string;
  readonly sealed: string;
  readonly tool: (index: number) => string;
}

const CLAUDE = "claude:claude-sonnet-4-5";
const FORMS: readonly Form[] = [
  {
    name: "native message",
    path: "/api/v1/messages",
    body: (content, more = "", model = CLAUDE) =>
      `{"model":"${model}","max_tokens":9,"messages":[{"role":"user","content":${content}}]${more}}`,
    item: () => '{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}',
    guarded: ',"metadata":{"user_id":"asked"}',
    sealed: '{"type":"thinking","thinking":"x","signature":"dragoman1.AAAA.dragoman"}',
    tool: (index) => `{"name":"f${index}","description":${text(300)},"input_schema":{"type":"object"}}`,
  },
  {
    name: "native response",
    path: "/api/v1/responses",
    body: (content, more = "", model = "native:m") => `{"model":"${model}","input":${content}${more}}`,
    item: () => '{"role":"user","content":"x"}',
    guarded: ',"user":"asked"',
    sealed: '{"type":"reasoning","id":"r","summary":[],"encrypted_content":"dragoman1.AAAA.dragoman"}',
    tool: (index) =>
      `{"type":"function","name":"f${index}","description":${text(300)},"parameters":{"type":"object"},"strict":false}`,
  },
];

function requestsOf({ name, path, body, item, guarded, sealed, tool }: Form): readonly LoopShape[] {
  const shape = (title: string, make: () => string): LoopShape => ({ title: `${name}: ${title}`, path, body: make });
  const both = (title: string, make: (more: string) => string): readonly LoopShape[] => [
    shape(title, () => make("")),
    shape(`${title}, guarded`, () => make(guarded)),
  ];
  const unknown = (members: string) => (more: string) => body('"x"', `,${members}${more}`);
  return [
    ...both("30 MB of text", (more) => body(text(30 * MB), more)),
    ...both("30 MB of quotes", (more) => body(text(30 * MB, '\\"'), more)),
    ...both("490 KB of quotes", (more) => body(text(490_000, '\\"'), more)),
    ...both("9,900 items", (more) => body(`[${many(9_900, item)}]`, more)),
    ...both("9,900 items of 1 KB", (more) =>
      body(`[${many(9_900, (index) => item(index).replace('"x"', text(1_000)))}]`, more),
    ),
    ...both("40,000 texts in 490 KB of an unknown member", (more) =>
      unknown(`"later":[${many(4, () => `[${many(9_900, (index) => `"a${index}"`)}]`)}]`)(more),
    ),
    ...both("240,000 values in an unknown member", (more) =>
      unknown(`"later":[${many(24, () => `[${many(9_900, (index) => `"a${index}"`)}]`)}]`)(more),
    ),
    ...both("2,000 tools", (more) => unknown(`"tools":[${many(2_000, tool)}]`)(more)),
    ...both("a long text with addresses of e-mail", (more) => body(text(2 * MB, "ada@mail.example.org, "), more)),
    shape("5,000 carriers", () =>
      body(name === "native message" ? text(MB) : `[${many(5_000, () => sealed)},${item(0)}]`),
    ),
    shape("8 fallbacks beside 10 MB", () =>
      body(text(10 * MB), `,"x_gateway":{"fallbacks":[${many(8, (index) => `{"model":"up:m","later":${index}}`)}]}`),
    ),
  ];
}

/** The model selects the answer of the upstream (answers.ts). */
function answersTo({ name, path, body }: Form): readonly LoopShape[] {
  const provider = name === "native message" ? "claude" : "native";
  return [
    ["30 MB of text", "long-text", ""],
    ["30 MB of escapes", "long-escapes", ""],
    ["170,000 objects", "short-objects", ""],
    ["1,000 items", "items", ""],
    ["a streamed event of 15 MB", "line", ',"stream":true'],
    ["a streamed event of 12 MB without escapes", "line-words", ',"stream":true'],
    ["a streamed event of 12 MB that others repeat", "line-words-repeated", ',"stream":true'],
    ["a streamed event of 7 MB of escapes that others repeat", "line-repeated", ',"stream":true'],
    ["a streamed call of 7 MB", "line-call", ',"stream":true'],
    ["a streamed event of 390,000 objects", "event-fewer-objects", ',"stream":true'],
    ["50,000 streamed events at once", "events", ',"stream":true'],
    ["a call in 50,000 pieces", "call-pieces", ',"stream":true'],
  ].flatMap(([title, model, more]) => [
    {
      title: `${name}: an answer of ${title}`,
      path,
      body: () => body('"x"', more, `${provider}:${model}`),
    },
  ]);
}

/** The same forms of a model that speaks chat completions alone. */
function translatedTo({ name, path, body }: Form): readonly LoopShape[] {
  return (
    [
      ["30 MB of text", "long-text", ""],
      ["30 MB of escapes", "long-escapes", ""],
      ["1,000,000 addresses of e-mail", "addresses", ""],
      ["170,000 objects", "short-objects", ""],
      ["2,000 tokens with 20 probabilities each", "probabilities", ""],
      ["1,000 calls of 30 KB", "calls", ""],
      ["a call of 20 MB", "call-long", ""],
      ["a call of 390,000 objects", "call-objects", ""],
      ["a streamed line of 15 MB", "line", ',"stream":true'],
      ["a streamed line of 7 MB of accented letters", "line-accents", ',"stream":true'],
      ["100,000 streamed events at once", "events", ',"stream":true'],
      ["100,000 pieces of reasoning", "reasoning", ',"stream":true'],
      ["a call in 100,000 pieces", "call-pieces", ',"stream":true'],
      ["a call of 7 MB in 30,000 pieces", "call-long-pieces", ',"stream":true'],
      ["a call in 40,000 pieces beside another", "calls-in-turns", ',"stream":true'],
    ] as const
  ).map(([title, model, more]) => ({
    title: `${name.replace("native", "translated")}: an answer of ${title}`,
    path,
    body: () => body('"x"', more, `up:${model}`),
  }));
}

export const NATIVE: readonly LoopShape[] = FORMS.flatMap((form) => [
  ...requestsOf(form),
  ...answersTo(form),
  ...translatedTo(form),
]);
