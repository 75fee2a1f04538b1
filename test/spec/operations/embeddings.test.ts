// Promises 12.2 and 12.10 through the whole gateway: what holds for every call holds for embeddings.
import { afterAll, describe, expect, test } from "bun:test";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongTasks } from "../../../src/engine/long-bodies/long-tasks.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { EMBEDDINGS } from "../../../src/operations/embeddings/embeddings.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { cachedGateway } from "../../harness/cached.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { limitSet, type Rules } from "../../harness/limited.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { answerOf, type Body, bodyOf, vectorFor, vendors } from "../../operations/embeddings/vendors.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { routesOfText } from "../routing/route-texts.ts";

const MODEL = "openai:text-embedding-3-small";
const MAIL = "ada@mail.example.org";
const gatewayOf = (options: StubOptions = {}): Stub =>
  stubGateway({ operation: EMBEDDINGS, upstream: vendors(), ...options });

async function refused(gateway: Stub, body: Body): Promise<readonly unknown[]> {
  const answer = await gateway.chat({ model: MODEL, ...body });
  const { error } = (await answer.json()) as Body;
  return [answer.status, error["code"], gateway.sent.length];
}

describe("guards", () => {
  const guard = (action: string) => ({ name: "pii", guard: { classes: ["email"], action, on: "input" } });

  test("[d3.3 d12.2] mask inputs before they go out", async () => {
    const gateway = gatewayOf({ snapshot: { policies: policiesFor(guard("mask")) } });
    await gateway.chat({ model: MODEL, input: ["plain", `write to ${MAIL} now`] });
    const { input } = bodyOf(gateway.sent[0]!);
    expect(input[0]).toBe("plain");
    expect(input[1]).toMatch(/^write to .+ now$/);
    expect(JSON.stringify(input)).not.toContain(MAIL);
  });
  test("[d3.3 d12.2] block a call for what one of its inputs says", async () => {
    const gateway = gatewayOf({ snapshot: { policies: policiesFor(guard("block")) } });
    expect(await refused(gateway, { input: ["plain", MAIL] })).toEqual([403, "policy_violation", 0]);
  });
  test("[d3.5 d12.2] search the vendor's own members of usage in the answer", async () => {
    const usage = { prompt_tokens: 2, total_tokens: 2, note: MAIL };
    const body = JSON.stringify({ data: [{ index: 0, embedding: [1] }], model: "m", usage });
    const policies = policiesFor({ name: "pii", guard: { classes: ["email"], action: "mask", on: "output" } });
    const gateway = gatewayOf({ upstream: cannedUpstream({ body }), snapshot: { policies } });
    const answer = (await (await gateway.chat({ model: MODEL, input: "ab" })).json()) as Body;
    expect([answer["data"][0].embedding, answer["usage"]]).toEqual([[1], { ...usage, note: "[email]" }]);
  });
  test("[d12.2] cannot be passed with token ids, which they could not read", async () => {
    const gateway = gatewayOf({ snapshot: { policies: policiesFor(guard("block")) } });
    expect(await refused(gateway, { input: [[1, 2, 3]] })).toEqual([400, "invalid_request", 0]);
  });
  test("[d12.2] refuse token ids that a guard would mask which lets pass what it cannot search", async () => {
    const masking = { name: "pii", guard: { patterns: ["1234"], action: "mask", on: "input", on_error: "allow" } };
    const usage = { prompt_tokens: 2, total_tokens: 2 };
    const body = JSON.stringify({ data: [{ index: 0, embedding: [1] }], model: "m", usage });
    const gateway = gatewayOf({ upstream: cannedUpstream({ body }), snapshot: { policies: policiesFor(masking) } });
    expect(await refused(gateway, { input: [[1234, 5]] })).toEqual([400, "invalid_request", 0]);
    expect((await gateway.chat({ model: MODEL, input: [[5, 6]] })).status).toBe(200);
    expect(bodyOf(gateway.sent[0]!).input).toEqual([[5, 6]]);
  });
  const failed = { name: "pii", effect: "failed" as const, why: expect.any(String) };
  test.each([
    ["in audit mode", { ...guard("block"), mode: "audit" }, [failed]],
    [
      "that lets pass what it could not search",
      { name: "pii", guard: { ...guard("block").guard, on_error: "allow" } },
      [failed],
    ],
    ["of another token", { ...guard("block"), scope: { token: "tok_other" } }, []],
    ["of a target that the call cannot reach", { ...guard("block"), scope: { provider: "elsewhere" } }, []],
  ])(
    "[d3.1 d12.2] with a guard %s, token ids pass, and the record says what was not searched",
    async (_, policy, outcomes) => {
      const usage = { prompt_tokens: 3, total_tokens: 3 };
      const body = JSON.stringify({ data: [{ index: 0, embedding: [1] }], model: "m", usage });
      const gateway = gatewayOf({ upstream: cannedUpstream({ body }), snapshot: { policies: policiesFor(policy) } });
      const answer = await gateway.chat({ model: MODEL, input: [[1, 2, 3]] });
      expect([answer.status, gateway.sent.length]).toEqual([200, 1]);
      expect(gateway.records[0]!.policies).toEqual(outcomes);
    },
  );
});

describe("limits", () => {
  const models = [
    {
      id: "m",
      name: null,
      contextLength: null,
      maxCompletionTokens: null,
      pricing: { prompt: "0.000001", completion: "0.000002" },
    },
  ];
  const limited = (rules: Rules, family = "openai"): Stub =>
    gatewayOf({
      snapshot: { limitRules: limitSet(rules) },
      providers: [
        { ...providerSettings({ id: "up", family, baseUrl: "http://up.test", credentials: [storedKey("k")] }), models },
      ],
    });
  const ask = (gateway: Stub, input: unknown): Promise<Response> => gateway.chat({ model: "up:m", input });

  test("[d4.2 d12.10] reserve no tokens of an answer, and count what the provider tells", async () => {
    // an output bound of a conversation alone would not fit
    const gateway = limited({ limits: { few: { metric: "tokens", limit: 40, window: "hour" } } });
    const answer = await ask(gateway, ["ab", "cd"]);
    expect([answer.status, answer.headers.get("x-ratelimit-remaining-tokens")]).toEqual([200, "36"]);
    const refusal = await ask(gateway, "word ".repeat(100));
    expect(refusal.status).toBe(429);
    expect(gateway.context.limits.open()).toBe(0);
  });
  test("[d4.2 d12.10] count each upstream request where they are of a provider", async () => {
    const gateway = limited(
      { limits: { few: { metric: "requests", limit: 5, window: "hour", scope: { provider: "up" } } } },
      "dashscope",
    );
    const texts = (count: number): readonly string[] => Array.from({ length: count }, () => "a");
    expect((await ask(gateway, texts(60))).status).toBe(429);
    expect(gateway.sent).toEqual([]);
    const answer = await ask(gateway, texts(50));
    expect([answer.status, answer.headers.get("x-ratelimit-remaining-requests")]).toEqual([200, "0"]);
  });
  test("[d4.7 d12.2] cost what the inputs cost", async () => {
    const gateway = limited({});
    await ask(gateway, ["ab", "cd", "ef"]);
    expect(gateway.records[0]!.cost?.nanoUsd).toBe(6 * 1000);
  });
});

test("[d6.3 d12.2] what a route drops at its target is not sent, though the target takes it, and is named", async () => {
  const snapshot = routesOfText(
    `routes: {r: {targets: [{model: "${MODEL}", drop: [user, temperature]}]}, all: {targets: ["${MODEL}"]}}`,
  );
  const gateway = gatewayOf({ snapshot });
  const answer = await gateway.chat({ model: "r", input: "ab", user: "ada" });
  expect([answer.status, answer.headers.get("x-gateway-dropped-params")]).toEqual([200, "user"]);
  expect(bodyOf(gateway.sent[0]!)).not.toHaveProperty("user");
  await gateway.chat({ model: "all", input: "ab", user: "ada" });
  expect(bodyOf(gateway.sent[1]!)).toHaveProperty("user", "ada");
});

test("[d13.4 d12.2] equal calls share a kept answer, in the format that each asks for", async () => {
  const gateway = cachedGateway({ operation: EMBEDDINGS, answer: (request) => answerOf(request as never) });
  const ask = (fields: object): Promise<Response> => gateway.chat({ model: "one:m", input: "ab", ...fields });
  expect((await ask({})).headers.get("x-gateway-cache")).toBe("miss");
  const again = await ask({});
  expect(again.headers.get("x-gateway-cache")).toBe("hit");
  expect(((await again.json()) as Body)["data"][0].embedding).toEqual([...vectorFor("ab")]);
  expect((await ask({ dimensions: 2 })).headers.get("x-gateway-cache")).toBe("miss");
  expect(gateway.sent.length).toBe(2);
});

test("[d13.5 d12.7] a kept answer has the usage that the provider told in a header alone", async () => {
  const gateway = cachedGateway({
    operation: EMBEDDINGS,
    providers: [
      providerSettings({ id: "bedrock", baseUrl: "https://bedrock.test", credentials: [storedKey("a-key")] }),
    ],
    answer: (request) => answerOf(request as never),
  });
  const body = { model: "bedrock:cohere.embed-english-v3", input: "a text of more than two words" };
  const first = (await (await gateway.chat(body)).json()) as Body;
  const again = await gateway.chat(body);
  expect(again.headers.get("x-gateway-cache")).toBe("hit");
  expect(again.headers.get("x-gateway-warnings")).toBeNull();
  expect(((await again.json()) as Body)["usage"]).toEqual(first["usage"]);
  expect(first["usage"]).toEqual({ prompt_tokens: 2, total_tokens: 2 });
  expect(gateway.records.map(({ usage, usageSource }) => [usage?.prompt_tokens, usageSource])).toEqual([
    [2, "provider"],
    [2, "provider"],
  ]);
  expect(gateway.sent.length).toBe(1);
});

describe("long bodies", () => {
  const thread = openLongBodyThread(longBodyProgram());
  afterAll(() => thread.close());
  const there = { longRequests: openLongRequests(thread), longTasks: openLongTasks(thread) };
  const input = Array.from(
    { length: 200 },
    (_, index) => `${index} ${"long words ".repeat((1.2 * LONG_BODY_BYTES) / 2200)}`,
  );

  for (const model of [
    MODEL,
    "cohere:embed-v4.0",
    "dashscope:text-embedding-v4",
    "bedrock:amazon.titan-embed-text-v2:0",
  ])
    test(`[d5.8 d12.10] are the same for ${model} in another thread`, async () => {
      const asked = async (options: StubOptions): Promise<readonly unknown[]> => {
        const gateway = gatewayOf(options);
        const answer = await gateway.chat({ model, input, metadata: { n: "1" } });
        const { usage, messages, dispositions, attempts } = gateway.records[0]!;
        return [
          answer.status,
          await answer.json(),
          gateway.sent.map((request) => [request.url, bodyOf(request)]),
          { usage, messages, dispositions, sent: attempts.length },
        ];
      };
      const [one, other] = [await asked({}), await asked(there)];
      expect(other).toEqual(one);
      expect(one[0]).toBe(200);
    });

  test("[d5.8 d12.10] are masked there too", async () => {
    const policies = policiesFor({ name: "pii", guard: { classes: ["email"], action: "mask", on: "input" } });
    const gateway = gatewayOf({ ...there, snapshot: { policies } });
    expect((await gateway.chat({ model: MODEL, input: [...input, MAIL] })).status).toBe(200);
    expect(JSON.stringify(bodyOf(gateway.sent[0]!))).not.toContain(MAIL);
  });

  test("[d5.8 d12.10] long answers are the same from another thread", async () => {
    const vector = Array.from({ length: 3072 }, (_, index) => Math.sin(index));
    const body = JSON.stringify({
      data: Array.from({ length: 40 }, (_, index) => ({
        index,
        embedding: vector.map((entry) => entry / (index + 1)),
      })),
      usage: { prompt_tokens: 80, total_tokens: 80 },
    });
    expect(body.length).toBeGreaterThan(LONG_BODY_BYTES);
    const texts = Array.from({ length: 40 }, () => "a");
    const asked = async (options: StubOptions): Promise<Body> =>
      (await (
        await gatewayOf({ ...options, upstream: vendors(() => ({ body })) }).chat({ model: MODEL, input: texts })
      ).json()) as Body;
    const other = await asked(there);
    expect(other).toEqual(await asked({}));
    expect(other["data"][39].embedding).toEqual(vector.map((entry) => entry / 40));
  });
});
