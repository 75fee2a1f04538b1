// "Hello", or a call of the weather function, from providers of their own wire form that are called by this path; null for every other address.
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import type { CannedAnswer } from "../../harness/in-process.ts";
import { eventStream } from "../../harness/servers/upstream.ts";

export function helloFromNative({ url, body }: UpstreamRequest): CannedAnswer | null {
  if (/\/responses(\?|$)/.test(url)) return helloFromResponses(body);
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

/** https://platform.openai.com/docs/api-reference/responses-streaming */
function helloFromResponses(body: string): CannedAnswer {
  const calls = body.includes("call the function");
  const part = { type: "output_text", text: "Hello", annotations: [] };
  const item = calls
    ? { type: "function_call", id: "fc_1", call_id: "call_1", name: "weather", arguments: '{"city":"Paris"}' }
    : { type: "message", id: "msg_1", role: "assistant", content: [part] };
  const response = {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    status: "completed",
    output: [{ ...item, status: "completed" }],
    usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
  };
  if ((JSON.parse(body) as { readonly stream?: boolean }).stream !== true) return json(response);
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const at = { output_index: 0, item_id: item.id };
  const events = [
    { type: "response.created", response: begun },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...item, ...(calls ? { arguments: "" } : { content: [] }) },
    },
    ...(calls
      ? [{ type: "response.function_call_arguments.delta", ...at, delta: '{"city":"Paris"}' }]
      : [
          { type: "response.content_part.added", ...at, content_index: 0, part: { ...part, text: "" } },
          { type: "response.output_text.delta", ...at, content_index: 0, delta: "Hello" },
        ]),
    { type: "response.output_item.done", output_index: 0, item: { ...item, status: "completed" } },
    { type: "response.completed", response },
  ];
  return { headers: { "content-type": "text/event-stream" }, body: eventStream(...events) };
}
