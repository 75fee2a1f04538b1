// A fault of the gateway's own while it makes the response of an answer: the call fails, and holds nothing afterwards.
import { expect, test } from "bun:test";
import type { AnswerForm } from "../../src/engine/answer-form.ts";
import type { Operation } from "../../src/engine/operation.ts";
import { replyConversation } from "../../src/engine/reply-conversation.ts";
import { replyTask } from "../../src/engine/tasks/reply-task.ts";
import { CHAT_ANSWERS, CHAT_COMPLETIONS } from "../../src/operations/chat/chat-completions.ts";
import { EMBEDDINGS } from "../../src/operations/embeddings/embeddings.ts";
import { cannedUpstream } from "../harness/in-process.ts";
import { routedGateway, routeOf } from "../harness/routed.ts";
import { openaiAnswer } from "../harness/servers/upstream.ts";

const fault = (): never => {
  throw new Error("a fault in the form");
};
const FAULTY: AnswerForm = { ...CHAT_ANSWERS, body: fault };
const VECTORS = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [0.5] }],
  model: "m",
  usage: { prompt_tokens: 1, total_tokens: 1 },
};

test.each([
  ["a short one", CHAT_COMPLETIONS, (ready) => replyConversation(ready, FAULTY), openaiAnswer()],
  [
    "a long one",
    CHAT_COMPLETIONS,
    (ready) => replyConversation(ready, FAULTY),
    { ...openaiAnswer(), vendor: "x".repeat(100_000) },
  ],
  ["that of a task", EMBEDDINGS, (ready) => replyTask(ready, fault), VECTORS],
] as readonly (readonly [string, Operation, Operation["reply"], object])[])(
  "an answer whose form fails keeps no slot at its target: %s",
  async (_, operation, reply, answer) => {
    const gateway = routedGateway(
      [routeOf("r", [{ name: "up0:m", maxConcurrency: 1 }], { queue: { max: 0, timeoutMs: 1 } })],
      {},
      { upstream: cannedUpstream({ body: JSON.stringify(answer) }) },
    );
    const ask = (how: Operation): Promise<Response> =>
      gateway.call(how, operation === EMBEDDINGS ? { x_gateway: { route: "r" }, input: "Hi" } : CHAT);
    expect((await ask({ ...operation, reply })).status).toBe(500);
    expect((await ask(operation)).status).toBe(200);
    expect(gateway.context.routing.health.snapshot(0).map(({ inFlight }) => inFlight)).toEqual([0]);
  },
);

const CHAT = { route: "r", messages: [{ role: "user", content: "Hi" }] };
