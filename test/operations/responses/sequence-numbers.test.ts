// Sequence numbers of a stream have no gap, whatever is sent besides the answer and whichever attempt gives it.
import { expect, test } from "bun:test";
import { eventStream, openaiChunk } from "../../harness/servers/upstream.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { eventsOf, OPENAI, responsesGateway } from "./responses-calls.ts";

const ANSWER = {
  headers: { "content-type": "text/event-stream" },
  body: eventStream(openaiChunk({ content: "Hel" }), openaiChunk({ content: "lo" }), openaiChunk({}, "stop")),
} as const;

test("[d12.5] the head and response.in_progress go before any content, and the answer follows with the next numbers", async () => {
  const answering = Promise.withResolvers<void>();
  const canned = cannedUpstream(ANSWER);
  const upstream: UpstreamClient = {
    send: (request, call) => answering.promise.then(() => canned.send(request, call)),
  };
  const stub = responsesGateway({ upstream, limits: { headHoldMs: 1, keepAliveMs: 1 } });
  // within the process, the body is a stream of texts
  const body = (await stub.respond({ ...OPENAI, stream: true })).body as unknown as ReadableStream<string>;
  const reader = body.getReader();
  let text = "";
  const read = async (isEnough: () => boolean): Promise<void> => {
    while (!isEnough()) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
    }
  };
  await read(() => text.split("event: response.in_progress").length > 3);
  answering.resolve();
  await read(() => false);
  const events = eventsOf(text);
  expect(events.slice(0, 4).map(({ type }) => type)).toEqual([
    "response.created",
    ...Array.from({ length: 3 }, () => "response.in_progress"),
  ]);
  const { type, response } = events.at(-1)!;
  expect([type, response.output[0].content[0].text]).toEqual(["response.completed", "Hello"]);
  expect(new Set(events.flatMap((event) => event["response"]?.id ?? [])).size).toBe(1);
});

test("[d12.5] an attempt that failed before its first content leaves no gap and no second beginning", async () => {
  let calls = 0;
  const stub = responsesGateway({
    upstream: cannedUpstream(() => {
      calls += 1;
      return calls === 1
        ? {
            ...ANSWER,
            body: eventStream(
              openaiChunk({ role: "assistant" }),
              JSON.stringify({ error: { message: "No.", type: "server_error" } }),
            ),
          }
        : ANSWER;
    }),
  });
  const response = await stub.respond({ ...OPENAI, stream: true, x_gateway: { num_retries: 1 } });
  const events = eventsOf(await response.text());
  expect(calls).toBe(2);
  expect(events.filter(({ type }) => type === "response.created")).toHaveLength(1);
  expect(events.at(-1)!.type).toBe("response.completed");
});
