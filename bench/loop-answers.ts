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
const LAST = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
const many = (length: number, item: (index: number) => string): string =>
  Array.from({ length }, (_, index) => item(index)).join(",");

const PLAIN: Readonly<Record<string, () => string>> = {
  "long-text": () => whole(`"${'The quick \\"brown\\" fox jumps. '.repeat(900_000)}"`),
  addresses: () => whole(`"${"ada@mail.example.org, ".repeat(1_000_000)}"`),
  "long-escapes": () => whole(`"${"\\n".repeat(15_000_000)}"`),
  objects: () => whole('"x"', `,"objects":[${"{},".repeat(999_000)}{}]`),
  "short-objects": () => whole('"x"', `,"objects":[${"{},".repeat(170_000)}{}]`),
  members: () => whole('"x"', `,${many(1_000_000, (index) => `"k${index}":1`)}`),
  numbers: () => whole('"x"', `,"numbers":[${"1,".repeat(3_000_000)}1]`),
  calls: () =>
    whole(
      `null,"tool_calls":[${many(2000, (index) => `{"id":"c${index}","type":"function","function":{"name":"f","arguments":"{\\"a\\":\\"${"\\\\n".repeat(5000)}\\"}"}}`)}]`,
    ),
  error: () => `{"error":{"message":"${"no ".repeat(10_000_000)}"}}`,
};
/** The same in the form of Ollama, which returns one choice per call. */
const ollama = (content: string, more = ""): string =>
  `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":${content}},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1${more}}`;
const OLLAMA: Readonly<Record<string, () => string>> = {
  "long-text": () => ollama(`"${'The quick \\"brown\\" fox jumps. '.repeat(900_000)}"`),
  "long-escapes": () => ollama(`"${"\\n".repeat(15_000_000)}"`),
  "short-objects": () => ollama('"x"', `,"objects":[${"{},".repeat(170_000)}{}]`),
  objects: () => ollama('"x"', `,"objects":[${"{},".repeat(999_000)}{}]`),
  calls: () => ollama('"x"', `,"texts":[${many(2000, () => `"${"\\n".repeat(7500)}"`)}]`),
  addresses: () => ollama(`"${"ada@mail.example.org, ".repeat(1_000_000)}"`),
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
  blank: () => `${event("")}${"\n".repeat(15_000_000)}${LAST}`,
};
const CLAUDE =
  '{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}';
const GEMINI =
  '{"candidates":[{"content":{"role":"model","parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}';
const BEDROCK =
  '{"output":{"message":{"role":"assistant","content":[{"text":"x"}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}';

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
      if (pathname.endsWith("/messages")) return json(CLAUDE);
      const name = /"model":"([\w-]+)"/.exec(head)?.[1] ?? "";
      const ofOllama = pathname.endsWith("/api/chat") ? OLLAMA[name] : undefined;
      if (ofOllama !== undefined) return json(once(`ollama ${name}`, ofOllama));
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
