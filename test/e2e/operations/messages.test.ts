// The operation messages on a real process: its paths, the tokens that a client may present, and what stands beside it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import {
  eventStream,
  type FakeUpstream,
  openaiAnswer,
  openaiChunk,
  startUpstream,
} from "../../harness/servers/upstream.ts";

let upstream: FakeUpstream;
let gateway: GatewayProcess;
let token: string;
beforeAll(async () => {
  upstream = startUpstream(({ body }) =>
    body["stream"] === true
      ? new Response(
          eventStream(openaiChunk({ content: "Hel" }), openaiChunk({ content: "lo" }), openaiChunk({}, "stop")),
          {
            headers: { "content-type": "text/event-stream", "anthropic-ratelimit-unified-status": "rejected" },
          },
        )
      : Response.json(openaiAnswer(), { headers: { "anthropic-ratelimit-unified-status": "rejected" } }),
  );
  gateway = await startGateway({
    config: `providers:\n  vllm:\n    base_url: ${upstream.url}/v1\n    api_key: of-the-operator\n    native: []\n`,
    environment: { DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "1" },
  });
  token = await gateway.createToken("--permission", "byo_endpoint");
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

const BODY = { model: "vllm:m", max_tokens: 100, messages: [{ role: "user", content: "Hi" }] };
const ask = (path: string, headers: Record<string, string>, body: object = BODY): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

test("[d12.1 d12.2] messages are served below each base address, whatever the query, with the client's own model", async () => {
  for (const path of ["/api/v1/messages", "/v1/messages?beta=true", "/api/messages/"]) {
    const response = await ask(path, { authorization: `Bearer ${token}` });
    expect([path, response.status, await response.json()]).toMatchObject([
      path,
      200,
      { type: "message", model: "vllm:m", content: [{ type: "text", text: "Hello" }], stop_reason: "end_turn" },
    ]);
    expect(response.headers.get("x-gateway-model")).toBe("vllm:m");
  }
  const streamed = await ask("/v1/messages?beta=true", { "x-api-key": token }, { ...BODY, stream: true });
  const names = [...(await streamed.text()).matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
  expect(names).toEqual([
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

test("[d12.1] a token counts in either header, and the one that is not the gateway's goes nowhere", async () => {
  const foreign = "sk-ant-of-somebody-else";
  for (const headers of [
    { "x-api-key": token },
    { "x-api-key": token, authorization: `Bearer ${foreign}` },
    { authorization: `Bearer ${token}`, "x-api-key": foreign },
    { authorization: `Bearer ${token}`, "x-api-key": token },
  ]) {
    const response = await ask("/v1/messages", headers);
    expect(response.status).toBe(200);
    await response.body?.cancel();
    const { authorization, ...others } = upstream.last().headers;
    expect(authorization).toBe("Bearer of-the-operator");
    expect(JSON.stringify(others) + upstream.last().text).not.toContain("sk-ant");
  }
  expect(gateway.output() + gateway.errors()).not.toContain(foreign);
  const other = await gateway.createToken();
  for (const [headers, status] of [
    [{ authorization: `Bearer ${token}`, "x-api-key": other }, 401],
    [{ "x-api-key": foreign }, 401],
    [{}, 401],
  ] as const) {
    const refused = await ask("/v1/messages", headers);
    expect([refused.status, await refused.json()]).toMatchObject([
      status,
      { type: "error", error: { type: "authentication_error" } },
    ]);
  }
  const listed = await fetch(`${gateway.url}/v1/models`, {
    headers: { "x-api-key": token, "anthropic-version": "2023-06-01" },
  });
  const { data, has_more: hasMore } = (await listed.json()) as { data: { type: string }[]; has_more: boolean };
  expect([data[0]!.type, hasMore]).toEqual(["model", false]);
});

test("[d12.1 d12.6] paths beside messages answer in its form: 501 for what is not served, 405 for another method", async () => {
  const batches = await ask("/v1/messages/batches", { "x-api-key": token }, { requests: [] });
  expect([batches.status, batches.headers.get("x-should-retry"), await batches.json()]).toMatchObject([
    501,
    "false",
    { type: "error", error: { type: "not_supported" }, request_id: batches.headers.get("request-id") },
  ]);
  const got = await fetch(`${gateway.url}/v1/messages`, { headers: { "x-api-key": token } });
  expect([got.status, await got.json()]).toMatchObject([405, { type: "error" }]);
  const text = await fetch(`${gateway.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": token, "content-type": "text/plain" },
    body: "{}",
  });
  expect([text.status, await text.json()]).toMatchObject([415, { type: "error" }]);
});

test("[d12.1] what clients ask before their first call is 200 without a body", async () => {
  for (const [method, path] of [
    ["HEAD", "/"],
    ["HEAD", "/api/hello"],
    ["GET", "/api/hello"],
  ] as const) {
    const response = await fetch(`${gateway.url}${path}`, { method });
    expect([method, path, response.status, await response.text()]).toEqual([method, path, 200, ""]);
  }
  expect((await fetch(`${gateway.url}/`)).status).toBe(404);
});

test("[d12.6] limits of a provider's account never reach the client", async () => {
  const response = await ask("/v1/messages", { "x-api-key": token });
  await response.body?.cancel();
  expect([...response.headers.keys()].filter((name) => name.startsWith("anthropic-ratelimit"))).toEqual([]);
});
