// "Hello" from raw prompt endpoints whose wire form is their own; null for every other address.
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import type { CannedAnswer } from "../../harness/in-process.ts";
import { eventStream } from "../../harness/servers/upstream.ts";

export function helloFromPrompt({ url, body }: UpstreamRequest): CannedAnswer | null {
  if (url.endsWith("/api/generate")) {
    const last = {
      model: "m",
      response: "Hello",
      done: true,
      done_reason: "stop",
      prompt_eval_count: 5,
      eval_count: 2,
    };
    return body.includes('"stream":true')
      ? {
          headers: { "content-type": "application/x-ndjson" },
          body: `${JSON.stringify({ ...last, done: false })}\n${JSON.stringify({ ...last, response: "" })}\n`,
        }
      : json(last);
  }
  if (!body.startsWith("{")) return null;
  if (url.endsWith("/predictions"))
    return json({
      id: "rrr4z55ocneqzikepnug6xezpe",
      status: "succeeded",
      output: ["Hello"],
      error: null,
      metrics: { input_token_count: 5, output_token_count: 2 },
    });
  const asked = JSON.parse(body) as Readonly<Record<string, unknown>>;
  if (typeof asked["inputs"] !== "string") return null;
  const details = { finish_reason: "eos_token", generated_tokens: 2, input_length: 5 };
  if (!url.endsWith("/generate_stream") && asked["stream"] !== true) return json({ generated_text: "Hello", details });
  return {
    headers: { "content-type": "text/event-stream" },
    body: eventStream({
      index: 1,
      token: { id: 1, text: "Hello", logprob: -0.1, special: false },
      generated_text: "Hello",
      details,
    }),
  };
}

const json = (answer: object): CannedAnswer => ({
  headers: { "content-type": "application/json" },
  body: JSON.stringify(answer),
});
