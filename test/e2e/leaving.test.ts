// Clients of a real process that leave early, on real sockets: what has reached the provider is charged, and the
// ledger's row shows it (promises 4.2, 7.7).
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { openaiAnswer, startUpstream } from "../harness/servers/upstream.ts";
import { until } from "../harness/time/until.ts";

/** Goes on when the client of the answer that it holds back has left. */
let leaves: Promise<void> = Promise.resolve();
const upstream = startUpstream(async ({ body }) => {
  if (body["model"] !== "halfway") {
    await Bun.sleep(60_000);
    return Response.json(openaiAnswer("late"));
  }
  const text = JSON.stringify(openaiAnswer("Hello"));
  const encoder = new TextEncoder();
  let sent = 0;
  return new Response(
    new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (sent++ === 0) return controller.enqueue(encoder.encode(text.slice(0, 20)));
        await leaves;
        controller.enqueue(encoder.encode(text.slice(20)));
        controller.close();
      },
    }),
    { headers: { "content-type": "application/json" } },
  );
});

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({
    config: `providers:\n  mine: {type: custom, base_url: "${upstream.url}/v1"}\nlimits:\n  tokens: {metric: tokens, window: day, limit: 60, scope: {model: "mine:late"}}\n`,
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

const MESSAGES = [{ role: "user", content: "Hello" }];
const calls = (): readonly Record<string, unknown>[] => gateway.lines().filter((line) => line["msg"] === "call");
test("[d4.2] [d7.7] calls whose clients always leave before the answer use up a limit all the same", async () => {
  let refused = 0;
  for (let call = 0; call < 15; call++) {
    const leaving = new AbortController();
    const [reached, logged] = [upstream.seen.length, calls().length];
    const answer = gateway
      .chat(
        { model: "mine:late", max_tokens: 1, messages: MESSAGES, stream: call % 2 === 0 },
        { signal: leaving.signal },
      )
      .then(
        (response) => response.status,
        () => null,
      );
    await until(() => upstream.seen.length > reached || calls().length > logged);
    // one that was refused is read to its end
    if (upstream.seen.length > reached) leaving.abort();
    if ((await answer) === 429) refused += 1;
    // what it has used is settled before the next one asks
    await until(() => calls().length > logged);
  }
  // 6 tokens of prompt each, and one more that is reserved for the answer: the tenth finds 54 used, and 6 left
  expect([upstream.seen.length, refused]).toEqual([9, 6]);
  const left = calls().filter((line) => line["code"] === "client_closed");
  expect(left.map((line) => [line["prompt_tokens"], line["completion_tokens"], line["usage_source"]])).toEqual(
    Array.from({ length: 9 }, () => [6, 0, "estimated"]),
  );
});

test("[d7.7] a plain answer that has begun is read on for the provider's own figures", async () => {
  const logged = calls().length;
  const leaving = new AbortController();
  let leave = (): void => {};
  leaves = new Promise((resolve) => (leave = resolve));
  const reached = upstream.seen.length;
  const answer = gateway
    .chat({ model: "mine:halfway", messages: MESSAGES }, { signal: leaving.signal })
    .catch(() => null);
  await until(() => upstream.seen.length > reached);
  // the head and the first piece have to be on their way before the client leaves
  await Bun.sleep(1_000);
  leaving.abort();
  await answer;
  leave();
  await until(() => calls().length > logged);
  const { usage } = openaiAnswer("Hello") as { readonly usage: Record<string, number> };
  expect(calls().at(-1)).toMatchObject({
    status: 499,
    code: "client_closed",
    usage_source: "provider",
    prompt_tokens: usage["prompt_tokens"],
    completion_tokens: usage["completion_tokens"],
  });
});
