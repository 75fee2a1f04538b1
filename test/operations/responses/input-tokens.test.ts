// Counts of tokens before a call of the Responses API (promise 12.11).
import { expect, test } from "bun:test";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { INPUT_TOKENS } from "../../../src/operations/responses/input-tokens.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";

const BODY = { instructions: "Be brief.", input: "Hello", tools: [{ type: "function", name: "look", parameters: {} }] };
const COUNT = '{"object":"response.input_tokens","input_tokens":1234}';
const counting = (body = COUNT, status = 200) => stubGateway({ upstream: cannedUpstream({ body, status }) });

test("[d12.11] a count is that of the provider, which is asked with what the client wrote, and costs nothing", async () => {
  const gateway = counting();
  const response = await gateway.call(INPUT_TOKENS, { ...BODY, model: "openai:gpt-5", x_gateway: { timeout: 20 } });
  expect([response.status, await response.json()]).toEqual([
    200,
    { object: "response.input_tokens", input_tokens: 1234 },
  ]);
  const [sent] = gateway.sent;
  expect(sent!.url).toBe("https://api.openai.com/v1/responses/input_tokens");
  expect(JSON.parse(sent!.body)).toEqual({ ...BODY, model: "gpt-5" });
  const [record] = gateway.records;
  expect(record).toMatchObject({ operation: "responses.input_tokens", status: 200 });
  expect(record!.cost?.nanoUsd ?? 0).toBe(0);
});

test("[d12.11] where the provider has no count there is none: 501, which clients do not repeat, and nothing is sent", async () => {
  for (const model of ["groq:m", "anthropic:claude-sonnet-4-5", "sandbox:echo"]) {
    const gateway = counting();
    const response = await gateway.call(INPUT_TOKENS, { ...BODY, model, stream: true });
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([501, "false"]);
    expect(await response.json()).toMatchObject({ error: { code: "not_implemented" } });
    expect(gateway.sent).toEqual([]);
  }
});

test("[d12.8 d12.11] what an earlier response said is counted with the rest", async () => {
  const clock = { now: () => Date.UTC(2026, 0, 1), monotonic: () => 0 };
  const kept = new KeptObjects(clock);
  const upstream = cannedUpstream(({ url }) => ({
    headers: { "content-type": "application/json" },
    body: url.endsWith("/input_tokens") ? COUNT : JSON.stringify(openaiAnswer("Hello")),
  }));
  const gateway = stubGateway({ clock, kept, upstream });
  const first = await gateway.call(RESPONSES, { ...BODY, model: "mistral:m" });
  const { id } = (await first.json()) as { readonly id: string };
  const response = await gateway.call(INPUT_TOKENS, { model: "openai:gpt-5", previous_response_id: id });
  expect(response.status).toBe(200);
  const { input, previous_response_id: previous } = JSON.parse(gateway.sent.at(-1)!.body);
  expect(previous).toBeUndefined();
  expect(input.map(({ role, content }: any) => [role, content[0].text])).toEqual([
    ["user", "Hello"],
    ["assistant", "Hello"],
  ]);
});

test("[d12.6 d12.11] an error of the provider, an answer without a count, and a request that says nothing are errors", async () => {
  const cases = [
    [counting('{"input_tokens":"many"}'), { model: "openai:gpt-5", input: "a" }, 502, "upstream_invalid_response"],
    [counting(), { model: "openai:gpt-5" }, 400, "invalid_request"],
  ] as const;
  for (const [gateway, body, status, code] of cases) {
    const response = await gateway.call(INPUT_TOKENS, body);
    const { error } = (await response.json()) as any;
    expect([response.status, error.code]).toEqual([status, code]);
  }
});
