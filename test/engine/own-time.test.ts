// The gateway's own time is what a call spends while nobody is waited for.
import { expect, test } from "bun:test";
import { handleCall } from "../../src/engine/handle.ts";
import { CHAT_COMPLETIONS } from "../../src/operations/chat/chat-completions.ts";
import { readBytes } from "../../src/wire/body-bytes.ts";
import { stubGateway } from "../harness/in-process.ts";

const SLOW_MS = 5000;

/** A clock that stands still unless it is turned. */
function stillClock() {
  const clock = { atMs: 0, now: () => 1_767_225_600_000 + clock.atMs, monotonic: () => clock.atMs };
  return clock;
}

test("[d9.5] a body that arrives slowly is no time of the gateway's own", async () => {
  const clock = stillClock();
  const stub = stubGateway({ clock });
  const bytes = new TextEncoder().encode('{"model":"sandbox:echo","messages":[{"role":"user","content":"Hi"}]}');
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(1);
      clock.atMs += SLOW_MS;
      controller.enqueue(bytes);
      controller.close();
    },
  });
  const headers = { authorization: stub.authorization, "content-type": "application/json" };
  const request = new Request("http://gateway.test/api/v1/chat/completions", { method: "POST", headers, body });
  const response = await handleCall(CHAT_COMPLETIONS, request, stub.context);
  await response.text();
  expect([response.status, response.headers.get("server-timing")]).toEqual([200, "gw;dur=0.000"]);
});

test("[d9.5] neither is the wait for the beginning of an answer whose head calls it JSON", async () => {
  const clock = stillClock();
  const answer = {
    id: "x",
    object: "chat.completion",
    created: 1,
    model: "gpt-4o",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  };
  const pieces = [new TextEncoder().encode(JSON.stringify(answer))];
  const read = async (): Promise<Uint8Array | null> => {
    const piece = pieces.shift();
    if (piece === undefined) return null;
    await Bun.sleep(1);
    clock.atMs += SLOW_MS;
    return piece;
  };
  const stub = stubGateway({
    clock,
    upstream: {
      send: async () => ({
        status: 200,
        header: (name) => (name === "content-type" ? "application/json" : null),
        body: {
          read,
          bytes: (maxBytes) => readBytes({ read }, maxBytes, () => {}),
          text: () => Promise.reject(new Error("is not read as text")),
          accept: () => {},
          cancel: () => {},
        },
      }),
    },
  });
  const response = await stub.chat({
    model: "openai:gpt-4o",
    messages: [{ role: "user", content: "?" }],
    stream: true,
  });
  expect(await response.text()).toContain('"content":"Hi"');
  expect([response.status, response.headers.get("server-timing")]).toEqual([200, "gw;dur=0.000"]);
});
