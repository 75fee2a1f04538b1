// Ids that a vendor hands out, on a real process: what the client was told is known after the process was killed.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { type FakeUpstream, startUpstream } from "../../harness/servers/upstream.ts";

const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-x",
  content: [{ type: "text", text: "Done" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
  container: { id: "container_abc", expires_at: "2099-01-01T00:00:00Z" },
};
const events = [
  { type: "message_start", message: { ...MESSAGE, content: [], stop_reason: null, container: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Done" } },
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", container: { id: "container_streamed" } },
    usage: { output_tokens: 1 },
  },
  { type: "message_stop" },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join("");

const dataFolder = mkdtempSync(join(tmpdir(), "dragoman-objects-"));
let upstream: FakeUpstream;
let gateway: GatewayProcess;
let token: string;
const start = (): Promise<GatewayProcess> =>
  startGateway({
    dataFolder,
    config: `providers:\n  anthropic:\n    base_url: ${upstream.url}\n    api_key: of-the-operator\n    hosted_tools: ["code_execution*"]\n`,
    environment: { DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "1" },
  });

beforeAll(async () => {
  upstream = startUpstream(({ body }) =>
    body["stream"] === true
      ? new Response(events, { headers: { "content-type": "text/event-stream" } })
      : Response.json(MESSAGE),
  );
  gateway = await start();
  token = await gateway.createToken();
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
  rmSync(dataFolder, { recursive: true, force: true });
});

const HELLO = { model: "anthropic:claude-x", max_tokens: 9, messages: [{ role: "user", content: "Why?" }] };
const TOOLS = { tools: [{ type: "code_execution_20250825", name: "code_execution" }] };
const ask = async (more: object): Promise<readonly [number, string]> => {
  const response = await gateway.chat({ ...HELLO, ...more }, { token, path: "/v1/messages" });
  return [response.status, await response.text()];
};

test("[d12.15] an id that a client was told is known to the next process, also after a kill", async () => {
  const [refused, error] = await ask({ container: "container_abc" });
  expect([refused, JSON.parse(error)]).toMatchObject([400, { type: "error" }]);
  expect(error).toContain("vendor_objects");
  expect((await ask(TOOLS))[0]).toBe(200);
  const [streamed, text] = await ask({ ...TOOLS, stream: true });
  expect([streamed, text.includes("message_stop")]).toEqual([200, true]);
  await gateway.stop("SIGKILL");
  gateway = await start();
  for (const container of ["container_abc", "container_streamed"])
    expect([container, (await ask({ container }))[0]]).toEqual([container, 200]);
  expect((await ask({ container: "container_other" }))[0]).toBe(400);
  const sent = upstream.last();
  expect(JSON.parse(sent.text)).toMatchObject({ container: "container_streamed" });
}, 240_000);
