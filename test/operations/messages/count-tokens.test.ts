// Counts of tokens before a call (promise 12.11).
import { describe, expect, test } from "bun:test";
import { COUNT_TOKENS } from "../../../src/operations/messages/count-tokens.ts";
import { INPUT_TOKENS } from "../../../src/operations/responses/input-tokens.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import {
  cannedUpstream,
  type CannedAnswer,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { NATIVE_MESSAGE } from "../../spec/operations/native-answers.ts";

const BODY = { messages: [{ role: "user", content: "Hello" }], tools: [{ name: "look", input_schema: {} }] };

test("[d12.11] a count is that of the provider, which is asked with what the client wrote, and costs nothing", async () => {
  const gateway = stubGateway({ upstream: cannedUpstream({ body: '{"input_tokens":1234}' }) });
  const response = await gateway.call(COUNT_TOKENS, { ...BODY, model: "anthropic:claude-sonnet-4-5" });
  expect([response.status, await response.json()]).toEqual([200, { input_tokens: 1234 }]);
  const [sent] = gateway.sent;
  expect(sent!.url).toBe("https://api.anthropic.com/v1/messages/count_tokens");
  expect(JSON.parse(sent!.body)).toEqual({ ...BODY, model: "claude-sonnet-4-5" });
  const [record] = gateway.records;
  expect(record).toMatchObject({ operation: "messages.count_tokens", status: 200 });
  expect(record!.cost?.nanoUsd ?? 0).toBe(0);
});

test("[d12.11] what is no whole number of tokens is no count", async () => {
  for (const count of ["-1", "1.5", '"9"']) {
    const gateway = stubGateway({ upstream: cannedUpstream({ body: `{"input_tokens":${count}}` }) });
    const response = await gateway.call(COUNT_TOKENS, { ...BODY, model: "anthropic:claude-sonnet-4-5" });
    expect(response.status).toBe(502);
  }
});

test("[d12.11] where the provider has no count there is none: 501, which clients do not repeat, and nothing is sent", async () => {
  const gateway = stubGateway();
  const response = await gateway.call(COUNT_TOKENS, { ...BODY, model: "groq:m" });
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([501, "false"]);
  expect(await response.json()).toMatchObject({ type: "error", error: { type: "not_supported" } });
  expect(gateway.sent).toEqual([]);
});

test("[d12.6 d12.11] a request that the form does not allow is refused with its path", async () => {
  const gateway = stubGateway();
  const response = await gateway.call(COUNT_TOKENS, { model: "groq:m" });
  expect([response.status, response.headers.get("x-gateway-error-param")]).toEqual([400, "messages"]);
});

describe("a count", () => {
  const counting = (options: StubOptions = {}): Stub =>
    stubGateway({
      operation: COUNT_TOKENS,
      upstream: cannedUpstream({ body: '{"input_tokens":1234,"object":"1234","1234":5,"note":"1234"}' }),
      ...options,
    });
  const ask = (gateway: Stub, model = "anthropic:claude-sonnet-4-5"): Promise<Response> =>
    gateway.chat({ ...BODY, model });

  test("[d3.5 d12.2 d12.11] is given where guards search answers, and nothing else that the provider says", async () => {
    const guard = { patterns: ["1234"], action: "block", on: "output" };
    const gateway = counting({ snapshot: { policies: policiesFor({ name: "no-numbers", guard }) } });
    const response = await ask(gateway);
    expect([response.status, await response.json()]).toEqual([200, { input_tokens: 1234 }]);
    expect(await (await ask(counting())).json()).toEqual({
      input_tokens: 1234,
      object: "1234",
      "1234": 5,
      note: "1234",
    });
  });

  test("[d12.3 d12.11] is asked for without parameters of the answer that the configuration sets, which the head names", async () => {
    const params = { max_tokens: 100, temperature: 0.5, stop: ["x"], top_k: 3, thinking: { type: "disabled" } };
    const at = (operation: StubOptions["operation"], name: string, route: object): Stub =>
      counting({
        operation: operation!,
        snapshot: { routes: new Map([["r", routeOf("r", [{ name, params: { ...params, ...route } }])]]) },
      });
    const messages = at(COUNT_TOKENS, "anthropic:claude-sonnet-4-5", {});
    const response = await ask(messages, "r");
    expect([response.status, response.headers.get("x-gateway-dropped-params")]).toEqual([
      200,
      "max_tokens,temperature,stop,top_k",
    ]);
    expect(JSON.parse(messages.sent[0]!.body)).toEqual({
      ...BODY,
      model: "claude-sonnet-4-5",
      thinking: params.thinking,
    });
    const responses = at(INPUT_TOKENS, "openai:gpt-5", { thinking: null, top_k: null, reasoning_effort: "low" });
    expect((await responses.chat({ model: "r", input: "Hello" })).status).toBe(200);
    expect(JSON.parse(responses.sent[0]!.body)).toEqual({
      model: "gpt-5",
      input: "Hello",
      reasoning: { effort: "low" },
    });
  });

  test("[d12.11] is not given without tools that the configuration adds, which only a translation has", async () => {
    const tools = [{ type: "function", function: { name: "look" } }];
    const route = routeOf("r", [{ name: "anthropic:claude-sonnet-4-5", params: { tools } }]);
    const gateway = counting({ snapshot: { routes: new Map([["r", route]]) } });
    const response = await gateway.chat({ model: "r", messages: BODY.messages });
    expect([response.status, gateway.sent]).toEqual([501, []]);
  });

  test("[d4.2 d12.11] counts as a request, and reserves neither tokens nor money, with or without a price", async () => {
    const limitRules = limitSet({
      limits: {
        tokens: { metric: "tokens", limit: 1, window: "hour" },
        requests: { metric: "requests", limit: 2, window: "hour" },
      },
      budgets: { money: { usd: "0.000001", window: "total" } },
    });
    const gateway = counting({ snapshot: { limitRules } });
    for (const model of ["anthropic:claude-sonnet-4-5", "anthropic:without-a-price"])
      expect((await ask(gateway, model)).status).toBe(200);
    const refused = await ask(gateway);
    expect([refused.status, gateway.records[2]!.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(gateway.records.map(({ usage }) => usage?.total_tokens)).toEqual([0, 0, undefined]);
    expect(gateway.context.limits.open()).toBe(0);
  });

  test("[d4.2 d12.11] costs nothing where its answer is cut, cannot be read, or has a price for each request", async () => {
    const pricing = { prompt: "0.000001", completion: "0.000002", request: "0.5" };
    const models = [{ id: "m", name: null, contextLength: null, maxCompletionTokens: null, pricing }];
    const providers = [{ ...providerSettings({ id: "anthropic", credentials: [storedKey("k")] }), models }];
    for (const answer of [
      { body: '{"input_tokens":1234}', cutAt: 9 },
      { body: "{}" },
      { body: '{"input_tokens":1234}' },
    ]) {
      const gateway = counting({ providers, upstream: cannedUpstream(answer) });
      await (await ask(gateway, "anthropic:m")).text();
      expect(gateway.records[0]).toMatchObject({ attempts: [{ status: 200 }] });
      const { usage, cost } = gateway.records[0]!;
      expect([usage?.total_tokens ?? 0, cost?.nanoUsd ?? 0]).toEqual([0, 0]);
    }
  });

  test("[d9.4 d12.11] costs nothing in an explanation", async () => {
    const gateway = counting({ permissions: ["debug"] });
    const response = await gateway.chat(
      { ...BODY, model: "anthropic:claude-sonnet-4-5" },
      { headers: { "x-gateway-explain": "true" } },
    );
    const { targets } = (await response.json()) as { readonly targets: readonly { readonly estimate: object }[] };
    expect(targets[0]!.estimate).toMatchObject({
      completion_tokens_bound: 0,
      cost_usd: { prompt: "0", completion_bound: "0", total_bound: "0" },
    });
  });
});

describe("what a count shows", () => {
  const MODEL = "anthropic:claude-sonnet-4-5";
  const limited: CannedAnswer = {
    status: 429,
    headers: { "content-type": "application/json", "retry-after": "3600" },
    body: '{"type":"error","error":{"type":"rate_limit_error","message":"Too many counts."}}',
  };
  /** Its counter answers as given, and its messages are answered. */
  const withCounter = (counter: CannedAnswer, keys: readonly string[]): Stub =>
    stubGateway({
      upstream: cannedUpstream(({ url }) => (url.endsWith("/count_tokens") ? counter : NATIVE_MESSAGE)),
      providers: [
        providerSettings({ id: "anthropic", baseUrl: "https://api.anthropic.com", credentials: keys.map(storedKey) }),
      ],
      snapshot: { routes: new Map([["r", routeOf("r", [MODEL, "anthropic:claude-opus-4-5"])]]) },
    });
  /** The models that answer four calls, by the keys with which they were called. */
  const answering = async (gateway: Stub): Promise<readonly unknown[]> => {
    const asked = { ...BODY, max_tokens: 9, x_gateway: { route: "r" } };
    for (let call = 0; call < 4; call++) expect((await gateway.call(MESSAGES, asked)).status).toBe(200);
    return gateway.sent.slice(-4).map(({ body, headers }) => [JSON.parse(body).model, headers["x-api-key"]]);
  };

  for (const keys of [["one"], ["one", "two"]])
    test(`[d7.5 d12.11] keeps no call for an answer from the target and its keys, of which there are ${keys.length}`, async () => {
      const untold = await answering(withCounter(limited, keys));
      for (const counter of [limited, { ...limited, status: 503 }, { body: "no count" }]) {
        const gateway = withCounter(counter, keys);
        for (let asked = 0; asked < 20; asked++) {
          const count = await gateway.call(COUNT_TOKENS, { ...BODY, x_gateway: { route: "r", num_retries: 0 } });
          expect(count.status).toBeGreaterThanOrEqual(400);
        }
        const told = await answering(gateway);
        expect(told.map(([model]: any) => model)).toEqual(untold.map(([model]: any) => model));
        expect(new Set(told.map(([, key]: any) => key)).size).toBe(new Set(untold.map(([, key]: any) => key)).size);
      }
    });
  test("[d7.9 d12.11] says nothing of how long an answer takes", async () => {
    const gateway = withCounter({ body: '{"input_tokens":5}' }, ["one"]);
    for (let asked = 0; asked < 40; asked++) await gateway.call(COUNT_TOKENS, { ...BODY, model: MODEL });
    const { health } = gateway.context.routing;
    expect([health.p95Ms(MODEL), health.latencyMs(MODEL, performance.now())]).toEqual([null, null]);
    expect(health.patienceMs(MODEL)).toBe(10_000);
  });
});
