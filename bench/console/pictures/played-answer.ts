// What answers the calls of the playground in pictures: the same stream each time.
import type { ConsoleSources } from "../../../src/http/app.ts";

const TRACE = "0199e7f4b1c05e1ec7ed0000000000aa";
const TEXT =
  "Take the 15:12 train. It arrives in Gothenburg at 17:49, and the tram to the ferry takes 12 minutes, so there is half an hour to spare.";

const explained = (order: number, target: string, why: string, fate: string) => ({
  order,
  target,
  why,
  parameters: [
    { name: "temperature", fate, note: fate === "dropped" ? "The model takes its default only." : null },
    { name: "max_tokens", fate: "mapped", note: null },
  ],
  request: {
    method: "POST",
    url: order === 1 ? "https://api.anthropic.com/v1/messages" : "https://api.openai.com/v1/chat/completions",
    headers: { "content-type": "application/json" },
    body: { model: target.slice(target.indexOf(":") + 1), max_tokens: 600, stream: true },
  },
  estimate: { prompt_tokens: 3190, completion_tokens_bound: 600, cost_usd: { total_bound: "0.01857" } },
});

/** What `x-gateway-explain` answers. */
const EXPLANATION = {
  object: "gateway.explanation",
  route: "chat",
  targets: [
    explained(1, "anthropic:claude-sonnet-4-5", "first by order", "native"),
    explained(2, "openai:gpt-5-mini", "after the targets before it", "dropped"),
  ],
  limits: [{ id: "support-month", kind: "budget", fits: true }],
  policies: [{ name: "no-card-numbers", kind: "guard", mode: "enforce" }],
};

export const playedAnswer: ConsoleSources["call"] = (_operation, request) => {
  if (request.headers.has("x-gateway-explain")) return Promise.resolve(Response.json(EXPLANATION));
  const chunk = (choice: object, more: object = {}): string =>
    `data: ${JSON.stringify({ id: "chatcmpl-88213", object: "chat.completion.chunk", created: 1_792_071_140, model: "anthropic:claude-sonnet-4-5", route: "chat", choices: [{ index: 0, delta: {}, finish_reason: null, ...choice }], ...more })}\n\n`;
  const words = TEXT.split(/(?<= )/);
  const usage = { prompt_tokens: 61, completion_tokens: words.length + 9, total_tokens: words.length + 70 };
  const events = [
    chunk({ delta: { role: "assistant", content: "" } }),
    ...words.map((content) => chunk({ delta: { content } })),
    chunk({ finish_reason: "stop" }, { usage }),
    "data: [DONE]\n\n",
  ];
  return Promise.resolve(
    new Response(events.join(""), {
      headers: {
        "content-type": "text/event-stream",
        "x-gateway-trace-id": TRACE,
        "x-gateway-provider": "anthropic",
        "x-gateway-attempts": "1",
      },
    }),
  );
};
