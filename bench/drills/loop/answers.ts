// The upstream of `npm run drill:loop`: it reads any request to its end, and the name of the model selects the answer:
// a small one, or megabytes.

export interface LongAnswers {
  readonly port: number;
  stop(): void;
}

const USAGE = '"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}';
const whole = (content: string, more = ""): string =>
  `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":${content}},"finish_reason":"stop"}],${USAGE}${more}}`;
const event = (members: string): string =>
  `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]${members}}\n\n`;
const piece = (delta: string): string =>
  `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":null}]}\n\n`;
const callPiece = (index: number, text: string): string =>
  piece(`{"tool_calls":[{"index":${index},"function":{"arguments":${JSON.stringify(text)}}}]}`);
const callStart = (index: number): string =>
  piece(
    `{"tool_calls":[{"index":${index},"id":"c${index}","type":"function","function":{"name":"f","arguments":""}}]}`,
  );
const LAST = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
const many = (length: number, item: (index: number) => string): string =>
  Array.from({ length }, (_, index) => item(index)).join(",");

/** The message of one call, whose arguments are written as in a JSON string. */
const calling = (text: string): string =>
  `null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"${text}"}}]`;

/** Some 30 MB with 980,000 escapes: the bound of a long answer is 1,000,000. */
const LONG_TEXT = 'The quick \\"brown\\" fox jumps over the lazy dog and runs on. '.repeat(490_000);
const FEW_ESCAPES = "\\n".repeat(990_000);
/** As many as guards can mask: the bound is 100,000 matches. */
const ADDRESSES = `ada@mail.example.org, ${"and so on, ".repeat(18)}`.repeat(99_000);

const PLAIN: Readonly<Record<string, () => string>> = {
  "long-text": () => whole(`"${LONG_TEXT}"`),
  "long-escapes": () => whole(`"${FEW_ESCAPES}"`),
  "many-escapes": () => whole(`"${"\\n".repeat(15_000_000)}"`),
  addresses: () => whole(`"${ADDRESSES}"`),
  "many-addresses": () => whole(`"${"ada@mail.example.org, ".repeat(1_000_000)}"`),
  objects: () => whole('"x"', `,"objects":[${"{},".repeat(390_000)}{}]`),
  "many-objects": () => whole('"x"', `,"objects":[${"{},".repeat(999_000)}{}]`),
  "short-objects": () => whole('"x"', `,"objects":[${"{},".repeat(170_000)}{}]`),
  members: () => whole('"x"', `,${many(1_000_000, (index) => `"k${index}":1`)}`),
  numbers: () => whole('"x"', `,"numbers":[${"1,".repeat(3_000_000)}1]`),
  calls: () =>
    whole(
      `null,"tool_calls":[${many(1000, (index) => `{"id":"c${index}","type":"function","function":{"name":"f","arguments":"{\\"a\\":\\"${`word ${"\\\\n".repeat(2)}${"word ".repeat(15)}`.repeat(320)}\\"}"}}`)}]`,
    ),
  "call-long": () => whole(calling(`{\\"a\\":\\"${"word ".repeat(4_000_000)}\\"}`)),
  "call-objects": () => whole(calling(`{\\"a\\":[${"{},".repeat(390_000)}{}]}`)),
  "some-long-numbers": () =>
    whole('"x"', `,"numbers":[${many(10_000, () => "12345678901234567890")}],"pad":"${"x ".repeat(300_000)}"`),
  "long-numbers": () => whole('"x"', `,"numbers":[${many(390_000, () => "12345678901234567890")}]`),
  probabilities: () =>
    whole('"x"').replace(
      '"finish_reason"',
      () =>
        `"logprobs":{"content":[${many(2_000, (index) => `{"token":"t${index}","bytes":[116],"logprob":-0.1,"top_logprobs":[${many(20, (other) => `{"token":"o${other}","bytes":[111],"logprob":-1.${index}}`)}]}`)}]},"finish_reason"`,
    ),
  error: () => `{"error":{"message":"${"no ".repeat(10_000_000)}"}}`,
};
/** The same in the form of Ollama, which returns one choice per call. */
const ollama = (content: string, more = ""): string =>
  `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":${content}},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1${more}}`;
const OLLAMA: Readonly<Record<string, () => string>> = {
  "long-text": () => ollama(`"${LONG_TEXT}"`),
  "long-escapes": () => ollama(`"${FEW_ESCAPES}"`),
  "short-objects": () => ollama('"x"', `,"objects":[${"{},".repeat(170_000)}{}]`),
  objects: () => ollama('"x"', `,"objects":[${"{},".repeat(390_000)}{}]`),
  calls: () => ollama('"x"', `,"texts":[${many(2000, () => `"${"\\n".repeat(490)}${"word ".repeat(3_000)}"`)}]`),
  addresses: () => ollama(`"${ADDRESSES}"`),
};
const STREAMS: Readonly<Record<string, () => string>> = {
  line: () => `data: {"choices":[{"index":0,"delta":{"content":"${'word \\"'.repeat(990_000)}"}}]}\n\n${LAST}`,
  "line-escapes": () => `data: {"choices":[{"index":0,"delta":{"content":"${"\\n".repeat(7_500_000)}"}}]}\n\n${LAST}`,
  "line-few-escapes": () =>
    `data: {"choices":[{"index":0,"delta":{"content":"${'word \\"'.repeat(990_000)}"}}]}\n\n${LAST}`,
  "line-accents": () =>
    `data: {"choices":[{"index":0,"delta":{"content":"${"\u00e9".repeat(7_500_000)}"}}]}\n\n${LAST}`,
  "event-fewer-objects": () => `${event(`,"objects":[${"{},".repeat(390_000)}{}]`)}${LAST}`,
  "event-objects": () => `${event(`,"objects":[${"{},".repeat(990_000)}{}]`)}${LAST}`,
  "event-members": () => `${event(`,${many(200_000, (index) => `"k${index}":1`)}`)}${LAST}`,
  events: () => `${event("").repeat(100_000)}${LAST}`,
  reasoning: () => `${piece('{"reasoning_content":"x"}').repeat(100_000)}${event("")}${LAST}`,
  "call-pieces": () =>
    `${callStart(0)}${callPiece(0, '{"a":"')}${callPiece(0, "x").repeat(100_000)}${callPiece(0, '"}')}${LAST}`,
  "call-long-pieces": () =>
    `${callStart(0)}${callPiece(0, '{"a":"')}${callPiece(0, "x".repeat(250)).repeat(30_000)}${callPiece(0, '"}')}${LAST}`,
  "calls-in-turns": () =>
    `${callStart(0)}${callPiece(0, `{"a":"${"x".repeat(500_000)}","b":[`)}${callStart(1)}${callPiece(1, "{}")}${callPiece(0, "{},{}").concat(callPiece(0, ",")).repeat(20_000)}${callPiece(0, "{}]}")}${LAST}`,
  blank: () => `${event("")}${"\n".repeat(15_000_000)}${LAST}`,
};
const GEMINI =
  '{"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}';
const BEDROCK =
  '{"output":{"message":{"role":"assistant","content":[{"text":"x"}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}';

const COHERE =
  '{"id":"x","message":{"role":"assistant","content":[{"type":"text","text":"x"}]},"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":1,"output_tokens":1}}}';

/** Answers in the forms of Messages and Responses. */
interface NativeForm {
  readonly whole: (content: string, more?: string) => string;
  readonly item: (text: string) => string;
  readonly stream: (events: string) => string;
  readonly delta: (text: string, more?: string) => string;
  /** A stream in which all that can repeat a text does, and one with a call that comes at once. */
  readonly repeated: (text: string) => string;
  readonly call: (text: string) => string;
  /** A stream with a call that comes in so many pieces. */
  readonly pieces: (text: string, count: number) => string;
}
const named = (type: string, members: string): string => `event: ${type}\ndata: {"type":"${type}",${members}}\n\n`;
const response = (output: string, more = ""): string =>
  `{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[${output}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}${more}}`;
const claude = (content: string, more = ""): string =>
  `{"id":"m","type":"message","role":"assistant","model":"m","content":[${content}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}${more}}`;
const MESSAGES_FORM: NativeForm = {
  whole: claude,
  item: (text) => `{"type":"text","text":${text}}`,
  stream: (events) =>
    `${named("message_start", `"message":${claude("")}`)}${named("content_block_start", '"index":0,"content_block":{"type":"text","text":""}')}${events}${named("content_block_stop", '"index":0')}${named("message_delta", '"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}')}${named("message_stop", '"x":1')}`,
  delta: (text, more = "") =>
    named("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":${text}}${more}`),
  repeated: (text) =>
    `${named("message_start", `"message":${claude("")}`)}${named("content_block_start", `"index":0,"content_block":{"type":"text","text":${text}}`)}${named("content_block_stop", '"index":0')}${named("message_stop", '"x":1')}`,
  call: (text) =>
    `${named("message_start", `"message":${claude("")}`)}${named("content_block_start", `"index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{"x":${text}}}`)}${named("content_block_stop", '"index":0')}${named("message_stop", '"x":1')}`,
  pieces: (text, count) => {
    const delta = (quoted: string): string =>
      named("content_block_delta", `"index":0,"delta":{"type":"input_json_delta","partial_json":${quoted}}`);
    return `${named("message_start", `"message":${claude("")}`)}${named("content_block_start", '"index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}')}${delta(JSON.stringify('{"a":"'))}${delta(text).repeat(count)}${delta(JSON.stringify('"}'))}${named("content_block_stop", '"index":0')}${named("message_delta", '"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":1}')}${named("message_stop", '"x":1')}`;
  },
};
const RESPONSES_FORM: NativeForm = {
  whole: response,
  item: (text) =>
    `{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":${text}}]}`,
  stream: (events) =>
    `${named("response.created", `"sequence_number":0,"response":${response("")}`)}${named("response.output_item.added", '"output_index":0,"item":{"type":"message","id":"i","role":"assistant","status":"in_progress","content":[]}')}${named("response.content_part.added", '"output_index":0,"content_index":0,"item_id":"i","part":{"type":"output_text","text":"","annotations":[]}')}${events}${named("response.completed", `"response":${response("")}`)}`,
  delta: (text, more = "") =>
    named(
      "response.output_text.delta",
      `"output_index":0,"content_index":0,"item_id":"i","sequence_number":3,"logprobs":[],"delta":${text}${more}`,
    ),
  repeated: (text) => {
    const part = `{"type":"output_text","annotations":[],"text":${text}}`;
    const place = '"output_index":0,"content_index":0,"item_id":"i"';
    const message = RESPONSES_FORM.item(text);
    return [
      named("response.created", `"sequence_number":0,"response":${response("")}`),
      RESPONSES_FORM.delta(text),
      named("response.output_text.done", `${place},"text":${text}`),
      named("response.content_part.done", `${place},"part":${part}`),
      named("response.output_item.done", `"output_index":0,"item":${message}`),
      named("response.completed", `"response":${response(message)}`),
    ].join("");
  },
  call: (text) => {
    const item = `{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":${text}}`;
    return `${named("response.created", `"sequence_number":0,"response":${response("")}`)}${named("response.output_item.done", `"output_index":0,"item":${item}`)}${named("response.completed", `"response":${response("")}`)}`;
  },
  pieces: (text, count) => {
    const item = (more: string): string =>
      `"output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f",${more}}`;
    const delta = (quoted: string, number: number): string =>
      named(
        "response.function_call_arguments.delta",
        `"output_index":0,"item_id":"i","sequence_number":${number},"delta":${quoted}`,
      );
    const input = JSON.stringify(`{"a":"${(JSON.parse(text) as string).repeat(count)}"}`);
    return [
      named("response.created", `"sequence_number":0,"response":${response("")}`),
      named("response.output_item.added", item('"arguments":""')),
      delta(JSON.stringify('{"a":"'), 2),
      ...Array.from({ length: count }, (_, index) => delta(text, index + 3)),
      delta(JSON.stringify('"}'), count + 3),
      named("response.output_item.done", item(`"arguments":${input}`)),
      named("response.completed", `"response":${response("")}`),
    ].join("");
  },
};

function nativeAnswer(
  name: string,
  { whole: made, item, stream, delta, repeated, call, pieces }: NativeForm,
): string | null {
  switch (name) {
    case "long-text":
      return made(item(`"${LONG_TEXT}"`));
    case "long-escapes":
      return made(item(`"${FEW_ESCAPES}"`));
    case "short-objects":
      return made(item('"x"'), `,"objects":[${"{},".repeat(170_000)}{}]`);
    case "items":
      return made(many(1_000, () => item(`"${"word ".repeat(3_000)}"`)));
    case "line":
      return stream(delta(`"${'word \\"'.repeat(990_000)}"`));
    case "line-words":
      return stream(delta(`"${"word ".repeat(2_400_000)}"`));
    case "line-repeated":
      return repeated(`"${'word \\"'.repeat(990_000)}"`);
    case "line-words-repeated":
      return repeated(`"${"word ".repeat(2_400_000)}"`);
    case "line-call":
      return call(`"${'word \\"'.repeat(990_000)}"`);
    case "event-fewer-objects":
      return stream(delta('"x"', `,"objects":[${"{},".repeat(390_000)}{}]`));
    case "events":
      return stream(delta('"x"').repeat(50_000));
    case "call-pieces":
      return pieces('"x"', 50_000);
    default:
      return null;
  }
}

export function startLongAnswers(): LongAnswers {
  const made = new Map<string, string>();
  const once = (name: string, make: () => string): string =>
    made.get(name) ?? (made.set(name, make()), made.get(name)!);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request) {
      const bytes = await request.bytes();
      const head = Buffer.from(bytes.subarray(0, 200)).toString("latin1");
      const { pathname } = new URL(request.url);
      if (pathname.includes("generateContent")) return json(GEMINI);
      if (pathname.includes("/converse")) return json(BEDROCK);
      if (pathname.endsWith("/v2/chat")) return json(COHERE);
      const name = /"model":"([\w-]+)"/.exec(head)?.[1] ?? "";
      if (/\/(?:messages|responses)$/.test(pathname)) {
        const form = pathname.endsWith("/messages") ? MESSAGES_FORM : RESPONSES_FORM;
        const answer = once(`${pathname} ${name}`, () => nativeAnswer(name, form) ?? form.whole(form.item('"x"')));
        return answer.startsWith("event:")
          ? new Response(answer, { headers: { "content-type": "text/event-stream" } })
          : json(answer);
      }
      if (pathname.endsWith("/api/chat")) return json(once(`ollama ${name}`, OLLAMA[name] ?? (() => ollama('"x"'))));
      const plain = PLAIN[name];
      if (plain !== undefined) return json(once(name, plain), name === "error" ? 400 : 200);
      const stream =
        STREAMS[name] ??
        (/"stream":true/.test(head) || Buffer.from(bytes.subarray(-200)).toString("latin1").includes('"stream":true')
          ? () => event("") + LAST
          : undefined);
      if (stream !== undefined)
        return new Response(once(name, stream), { headers: { "content-type": "text/event-stream" } });
      return json(whole('"x"'));
    },
  });
  return { port: server.port!, stop: () => void server.stop(true) };
}

function json(text: string, status = 200): Response {
  return new Response(text, { status, headers: { "content-type": "application/json" } });
}
