// "Hello", or a call of the weather function, from providers of their own wire form that are called by this path; null for every other address.
import type { UpstreamRequest } from "../../src/wire/upstream.ts";
import type { CannedAnswer } from "../harness/in-process.ts";
import { eventStream } from "../harness/upstream.ts";

export function helloFromNative({ url, body }: UpstreamRequest): CannedAnswer | null {
  const isCohere = url.endsWith("/v2/chat");
  if (!isCohere && !url.endsWith("/api/chat")) return null;
  const streamed = (JSON.parse(body) as { readonly stream?: boolean }).stream === true;
  return (isCohere ? helloFromCohere : helloFromOllama)(streamed, body.includes("call the function"));
}

const json = (answer: object): CannedAnswer => ({
  headers: { "content-type": "application/json" },
  body: JSON.stringify(answer),
});

function helloFromCohere(streamed: boolean, calls: boolean): CannedAnswer {
  const usage = { tokens: { input_tokens: 5, output_tokens: 2 } };
  const reason = calls ? "TOOL_CALL" : "COMPLETE";
  const call = { id: "weather_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
  if (!streamed)
    return json({
      id: "c1",
      message: {
        role: "assistant",
        ...(calls ? { tool_calls: [call] } : { content: [{ type: "text", text: "Hello" }] }),
      },
      finish_reason: reason,
      usage,
    });
  const said = {
    index: 0,
    delta: { message: calls ? { tool_calls: call } : { content: { type: "text", text: "Hello" } } },
  };
  const events = [
    { type: "message-start", id: "c1" },
    { type: calls ? "tool-call-start" : "content-start", ...said },
    { type: "message-end", delta: { finish_reason: reason, usage } },
  ];
  return { headers: { "content-type": "text/event-stream" }, body: eventStream(...events) };
}

function helloFromOllama(streamed: boolean, calls: boolean): CannedAnswer {
  const end = { done: true, done_reason: "stop", prompt_eval_count: 5, eval_count: 2 };
  const message = {
    role: "assistant",
    content: calls ? "" : "Hello",
    ...(calls && { tool_calls: [{ function: { name: "weather", arguments: { city: "Paris" } } }] }),
  };
  if (!streamed) return json({ model: "m", message, ...end });
  return {
    headers: { "content-type": "application/x-ndjson" },
    body: [
      { message, done: false },
      { message: { role: "assistant", content: "" }, ...end },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
  };
}
