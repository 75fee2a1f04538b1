// Parameters that OpenAI's models take only while they do not reason, which depends on the request (promises 6.2 and 6.3).
import { expect, test } from "bun:test";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

async function asked(model: string, more: object) {
  const gateway = stubGateway({
    upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer()) }),
    providers: [providerSettings({ id: "openai", family: "openai", credentials: [storedKey("key")] })],
  });
  const response = await gateway.chat({
    model: `openai:${model}`,
    messages: [{ role: "user", content: "Hi" }],
    ...more,
  });
  const answer = (await response.json()) as { readonly error?: Readonly<Record<"code" | "param" | "message", string>> };
  const dropped = response.headers.get("x-gateway-dropped-params");
  return {
    refused: answer.error === undefined ? null : [answer.error.code, answer.error.param],
    message: answer.error?.message,
    dropped,
    gateway,
  };
}

const SAMPLED = { temperature: 0.2, top_p: 0.9, logprobs: true, top_logprobs: 2 };
const NONE = { reasoning_effort: "none" };

test.each<[model: string, more: object]>([
  ["gpt-5.2", SAMPLED],
  ["gpt-5.4", { ...SAMPLED, ...NONE }],
  ["gpt-5.6", { ...SAMPLED, ...NONE }],
  // the default says nothing
  ["gpt-5.6", { temperature: 1, top_p: 1 }],
  // it reasons only when it is asked to, and the vendor judges what goes with that
  ["gpt-5.4", { temperature: 0.2, reasoning_effort: "high" }],
  ["gpt-5.3-chat-latest", { temperature: 0.2 }],
])("[d6.3] %s takes %j", async (model, more) => {
  const { refused, dropped, gateway } = await asked(model, more);
  expect([refused, dropped]).toEqual([null, null]);
  expect(JSON.parse(gateway.sent[0]!.body)).toMatchObject(more);
});

test.each<[model: string, more: object]>([
  ["gpt-5.5", {}],
  ["gpt-5.6-sol", { reasoning_effort: "low" }],
  ["gpt-6", {}],
])("[d6.2] %s with %j takes none of them: each is refused, or dropped and named", async (model, more) => {
  for (const [name, value] of [["temperature", 0.2] as const, ["top_p", 0.9] as const]) {
    const { refused, message, gateway } = await asked(model, { [name]: value, ...more });
    expect(refused).toEqual(["unsupported_parameter", name]);
    expect(message).toContain("(other values than the default require reasoning_effort none");
    expect(gateway.sent).toEqual([]);
  }
  const { refused, dropped, gateway } = await asked(model, { ...SAMPLED, ...more, drop_params: true });
  expect([refused, dropped]).toEqual([null, Object.keys(SAMPLED).join(",")]);
  const sent = JSON.parse(gateway.sent[0]!.body) as object;
  expect(Object.keys(SAMPLED).filter((name) => name in sent)).toEqual([]);
});
