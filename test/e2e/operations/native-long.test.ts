// Long and guarded calls of the Messages API on a real process, against a server that speaks it: what a coding agent
// writes in a long session arrives as it was written.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type GatewayProcess, runCli, startGateway } from "../../harness/processes/gateway-process.ts";

const ANSWER = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "Done." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 },
};
const event = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
/** A stream that ends in the midst of its text. */
const CUT =
  event("message_start", { message: { ...ANSWER, content: [], stop_reason: null } }) +
  event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
  event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Half of " } });

const arrived: { readonly path: string; readonly key: string | null; readonly body: string }[] = [];
let vendor: ReturnType<typeof Bun.serve>;
let gateway: GatewayProcess;
let token: string;
let acme: string;
beforeAll(async () => {
  vendor = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = await request.text();
      arrived.push({ path: new URL(request.url).pathname, key: request.headers.get("x-api-key"), body });
      if (body.includes('"stream":true'))
        return new Response(CUT, { headers: { "content-type": "text/event-stream" } });
      return Response.json(ANSWER);
    },
  });
  const claude = (key: string): string =>
    `{ type: anthropic, base_url: "http://127.0.0.1:${vendor.port}", api_key: ${key} }`;
  gateway = await startGateway({
    config: `providers:
  claude: ${claude("sk-of-the-operator-1")}
  other: ${claude("sk-of-acme-22222222")}
tenants:
  acme:
    policies:
      no-addresses: { guard: { on: input, action: mask, classes: [email] } }
`,
    environment: { DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "true" },
  });
  token = gateway.firstToken!;
  const admin = await personalToken();
  const cli = async (...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runCli([...words, "--json", "--url", gateway.url, "--token", admin]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  await cli("tenant", "create", "acme");
  await cli("project", "create", "agents", "--tenant", "acme");
  acme = (JSON.parse(await cli("token", "create", "--tenant", "acme", "--project", "agents")) as { token: string })
    .token;
});
afterAll(async () => {
  await gateway.stop();
  await vendor.stop(true);
});

async function personalToken(): Promise<string> {
  const made = await runCli(["token", "create", "--data", gateway.dataFolder, "--json", "--name", "a", "--personal"]);
  return (JSON.parse(made.stdout) as { readonly token: string }).token;
}

const MAIL = "ada@mail.example.org";
const MARK = '"cache_control": {"type":"ephemeral","ttl":"1h"}';
const FILE = 'export const fox = (dog: Dog): void => jump(over(dog)); // \\u00fcber \\"lazy\\" 🦊\\n'.repeat(16_000);
/** Some 3 MB as an agent writes them, with spaces, odd numbers, and members of tomorrow. */
const session = (
  model: string,
  more = "",
): string => `{ "model": "${model}", "max_tokens":32e3, "later": {"a":[1.0,null]},
 "system":[{"type":"text","text":"You are an agent of ${MAIL}.", ${MARK}}],
 "context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
 "messages":[{"role":"user","content":[{"type":"text","text":"${FILE}", ${MARK}}]},
  {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"EqQBCkYIBxgCKkA="},{"type":"tool_use","id":"toolu_1","name":"Read","input":{"offset":12345678901234567890}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"${FILE}"}],"new_of_results":true}]}],
 "tools":[{"name":"Read","input_schema":{"type":"object","properties":{}},"eager_input_streaming":true, ${MARK}}]${more}}`;

const ask = (body: string, as: string): Promise<Response> =>
  fetch(`${gateway.url}/v1/messages?beta=true`, {
    method: "POST",
    headers: {
      "x-api-key": as,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "context-management-2025-06-27",
    },
    body,
  });

test("[d12.3 d5.8] a body of 3 MB arrives byte for byte, but for the model", async () => {
  const body = session("claude:claude-opus-5");
  expect(Buffer.byteLength(body)).toBeGreaterThan(2_500_000);
  const answer = await ask(body, token);
  expect([answer.status, ((await answer.json()) as typeof ANSWER).model]).toEqual([200, "claude:claude-opus-5"]);
  const { key, path, body: sent } = arrived.at(-1)!;
  expect([key, path]).toEqual(["sk-of-the-operator-1", "/v1/messages"]);
  expect(sent === body.replace("claude:claude-opus-5", "claude-opus-5")).toBe(true);
});

test("[d12.3 d3.3] under a guard of one tenant the same arrives masked, with that tenant's key, and not at another's", async () => {
  const body = session("claude:claude-opus-5");
  const before = arrived.length;
  const both = await Promise.all([ask(session("other:claude-opus-5"), acme), ask(body, token)]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  const sent = new Map(arrived.slice(before).map((one) => [one.key, one.body]));
  const named = body.replace("claude:claude-opus-5", "claude-opus-5");
  expect(sent.get("sk-of-acme-22222222") === named.replace(MAIL, "[email]")).toBe(true);
  expect(sent.get("sk-of-the-operator-1") === named).toBe(true);
});

test("[d12.5] a stream that the provider cuts ends with an error, and never as complete", async () => {
  for (const [as, model] of [
    [token, "claude:claude-opus-5"],
    [acme, "other:claude-opus-5"],
  ] as const) {
    const answer = await ask(session(model, ',"stream":true'), as);
    const text = await answer.text();
    expect(text).toContain("Half of ");
    expect(text).toContain("event: error");
    expect(text).not.toContain("message_stop");
  }
});
