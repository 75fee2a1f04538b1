// What answers the calls of the playground in pictures: the same stream each time.
import type { ConsoleSources } from "../../src/http/app.ts";

const TRACE = "0199e7f4b1c05e1ec7ed0000000000aa";
const TEXT =
  "Take the 15:12 train. It arrives in Gothenburg at 17:49, and the tram to the ferry takes 12 minutes, so there is half an hour to spare.";

export const playedAnswer: ConsoleSources["call"] = () => {
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
