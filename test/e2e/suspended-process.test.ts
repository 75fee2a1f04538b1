// A gateway that was suspended for a while, as a debugger, a sleeping laptop or a paused virtual machine does it: answers
// that came meanwhile are read, and are not taken for late ones.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { childrenOf } from "../harness/processes/processes.ts";
import { openaiAnswer, openaiChunk, startUpstream } from "../harness/servers/upstream.ts";
import { until } from "../harness/time/until.ts";

const LIMIT_MS = 1000;

let gateway: GatewayProcess;
let answer = Promise.withResolvers<void>();
const upstream = startUpstream(async ({ path, text }) => {
  if (path === "/judge") {
    await answer.promise;
    return Response.json({ findings: [] });
  }
  const { stream } = JSON.parse(text) as { readonly stream?: boolean };
  if (stream !== true) {
    await answer.promise;
    return Response.json(openaiAnswer("In time."));
  }
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(encoder.encode(": begun\n\n"));
      await answer.promise;
      for (const chunk of [openaiChunk({ role: "assistant", content: "In time." }), openaiChunk({}, "stop")])
        controller.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`));
      controller.enqueue(encoder.encode("data: [DONE]\n\n"));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
});

beforeAll(async () => {
  gateway = await startGateway({
    config: `
providers:
  one: { type: custom, base_url: "${upstream.url}/v1" }
routes:
  r: { targets: ["one:m"], retries: 0, timeouts: { first_token_ms: ${LIMIT_MS} } }
  judged: { targets: ["one:m"], retries: 0 }
policies:
  judged:
    scope: { route: judged }
    guard:
      on: input
      action: block
      service: { type: request, url: "${upstream.url}/judge", timeout_s: ${LIMIT_MS / 1000} }
`,
  });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

test.each([
  ["first_token_ms of its route", { stream: true }],
  ["its own timeout", { timeout: LIMIT_MS / 1000 }],
  ["timeout_s of its guard's service", { route: "judged" }],
])("[d7.2] a call is not ended by %s for the time in which the gateway was suspended", async (_, fields) => {
  answer = Promise.withResolvers();
  const before = upstream.seen.length;
  const called = gateway.chat({ route: "r", messages: [{ role: "user", content: "Hello" }], ...fields });
  await until(() => upstream.seen.length > before);
  const processes = [gateway.pid, ...childrenOf(gateway.pid)];
  for (const pid of processes) process.kill(pid, "SIGSTOP");
  try {
    answer.resolve();
    await Bun.sleep(2 * LIMIT_MS);
  } finally {
    for (const pid of processes) process.kill(pid, "SIGCONT");
  }
  const response = await called;
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(text).toContain("In time.");
  expect(text).not.toContain('"error"');
});
