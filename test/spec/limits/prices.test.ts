// Promises 4.7 and 4.8 through the whole gateway: what a call cost, on every path on which it may end, and prices that come with the request.
import { describe, expect, test } from "bun:test";
import { compilePrices, priceSchema } from "../../../src/accounting/price-settings.ts";
import type { Permission } from "../../../src/core/identity.ts";
import type { PriceBook } from "../../../src/core/configured/price.ts";
import { inOneTurn } from "../../../src/core/concurrency/steps.ts";
import { handleCall } from "../../../src/engine/handle.ts";
import { listModels } from "../../../src/http/models.ts";
import { EMBEDDINGS } from "../../../src/operations/embeddings/embeddings.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RERANK } from "../../../src/operations/rerank/rerank.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { providers } from "../../../src/providers/registry.ts";
import { type Fault, OK, status, WORDS } from "../../harness/faults.ts";
import { cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { routedGateway, routeOf } from "../../harness/routed.ts";
import { eventStream, openaiChunk } from "../../harness/servers/upstream.ts";
import { answeringGateway, ask, HELLO, MODELS } from "../chat-calls.ts";
import { manualUpstream } from "../manual-upstream.ts";

const book = (document: object): PriceBook =>
  compilePrices([
    {
      id: "own",
      name: "own",
      tenantId: null,
      projectId: null,
      origin: "store",
      setBy: "owner",
      version: 3,
      document: priceSchema.parse(document),
    },
  ]);
/** A prompt token is a nano-dollar, a generated one a thousand. */
const OWN = book({ model: "*", prompt: "0.001", completion: "1" });
const gateway = answeringGateway({ snapshot: { prices: OWN } });
const lastOf = (stub: Stub) => stub.records.at(-1)!;
const COST = { nanoUsd: 2005, priceId: "own@3" };

describe("what a call cost", () => {
  for (const model of Object.values(MODELS))
    for (const stream of [false, true])
      test(`[d4.7] stands in its record, in whole nano-dollars, with the price's id: ${model}, ${stream ? "streamed" : "plain"}`, async () => {
        expect((await ask(gateway, { model, stream })).outcome).toBe("200");
        expect(lastOf(gateway)).toMatchObject({
          usage: { prompt_tokens: 5, completion_tokens: 2 },
          cost: COST,
          callerCost: null,
        });
      });

  test("[d4.7] is computed from the bundled price where none is configured, and is absent where none is known", async () => {
    const bundled = answeringGateway();
    await ask(bundled, { model: MODELS.openai });
    expect(lastOf(bundled).cost).toMatchObject({
      nanoUsd: 32_500,
      priceId: expect.stringContaining("openai/gpt-4o") as string,
    });
    await ask(bundled, { model: "openai:of-nobody" });
    expect(lastOf(bundled)).toMatchObject({ status: 200, cost: null });
    // the price at an address that the caller brought is unknown
    await ask(gateway, { base_url: "http://10.0.0.1/v1", api_key: "k" });
    expect(lastOf(gateway)).toMatchObject({ status: 200, cost: null });
  });

  test("[d4.7] is nothing where nothing was used", async () => {
    const stub = stubGateway({ upstream: cannedUpstream({ status: 400, body: "{}" }), snapshot: { prices: OWN } });
    await stub.chat({ model: MODELS.openai, messages: HELLO });
    expect(lastOf(stub)).toMatchObject({ status: 400, usage: null, cost: null });
  });

  test("[d4.7] is that of the estimate where the provider gives no figures", async () => {
    const stub = stubGateway({
      upstream: cannedUpstream({
        headers: { "content-type": "text/event-stream" },
        body: eventStream(openaiChunk({ content: "12345678" }), openaiChunk({}, "stop")),
      }),
      snapshot: { prices: OWN },
    });
    await (await stub.chat({ model: MODELS.openai, messages: HELLO, stream: true })).text();
    expect(lastOf(stub)).toMatchObject({
      usageSource: "estimated",
      usage: { prompt_tokens: 6, completion_tokens: 2 },
      cost: { nanoUsd: 2006 },
    });
  });

  test("[d4.7 d4.2] is that of the received part where the stream was cut", async () => {
    const body = eventStream(openaiChunk({ content: "1234" }), openaiChunk({ content: "5678" }, "stop"));
    const stub = stubGateway({
      upstream: cannedUpstream({
        headers: { "content-type": "text/event-stream" },
        body,
        chunk: "event",
        cutAt: body.indexOf("5678") - 20,
      }),
      snapshot: { prices: OWN },
    });
    await (await stub.chat({ model: MODELS.openai, messages: HELLO, stream: true })).text();
    expect(lastOf(stub)).toMatchObject({ status: 502, usageSource: "estimated", cost: { nanoUsd: 1006 } });
  });

  test("[d4.7 d4.2] is that of the received part where the client left", async () => {
    const upstream = manualUpstream();
    const stub = stubGateway({ upstream: upstream.client, snapshot: { prices: OWN } });
    upstream.give(`data: ${JSON.stringify(openaiChunk({ content: "1234" }))}\n\n`);
    const response = await stub.chat({ model: MODELS.openai, messages: HELLO, stream: true });
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(lastOf(stub)).toMatchObject({ status: 499, cancelled: true, cost: { nanoUsd: 1006 } });
  });

  const TRIED: readonly (readonly [
    what: string,
    scripts: Readonly<Record<string, readonly Fault[]>>,
    nanoUsd: number,
  ])[] = [
    ["an empty answer, then one", { up0: [{ kind: "empty" }, OK] }, 5 + 5 + WORDS * 1000],
    [
      "two empty answers, then one of another provider",
      { up0: [{ kind: "empty" }, { kind: "empty" }], up1: [OK] },
      5 + 5 + 5 + WORDS * 1000,
    ],
    ["a refusal, then an answer", { up0: [status(503), OK] }, 5 + WORDS * 1000],
    [
      "nothing but empty answers: the last is the answer, and paid once",
      { up0: [{ kind: "empty" }, { kind: "empty" }], up1: [{ kind: "empty" }, { kind: "empty" }] },
      4 * 5,
    ],
  ];
  for (const [what, scripts, nanoUsd] of TRIED)
    for (const stream of [false, true])
      test(`[d4.7] is the sum of what every attempt used: ${what}, ${stream ? "streamed" : "plain"}`, async () => {
        const routed = routedGateway(
          [
            routeOf(
              "r",
              Object.keys(scripts).map((name) => `${name}:m`),
              { retries: 1 },
            ),
          ],
          scripts,
          { snapshot: { prices: OWN } },
        );
        // waits are short
        Object.assign(routed.context, { routing: { ...routed.context.routing, random: () => 0.01 } });
        await (await routed.chat({ route: "r", messages: HELLO, stream })).text();
        expect(lastOf(routed)).toMatchObject({ status: 200, cost: { nanoUsd } });
      });

  test("[d4.7] is the sum of the upstream requests that several choices needed", async () => {
    await ask(gateway, { model: "ollama:m", n: 3 });
    const { usage, cost } = lastOf(gateway);
    expect(usage!.prompt_tokens).toBeGreaterThan(5);
    expect(cost!.nanoUsd).toBe(usage!.prompt_tokens + usage!.completion_tokens * 1000);
  });

  test("[d4.7] is sent in x-gateway-cost-usd of a plain answer on request, to browsers too, and never in usage", async () => {
    const asked = { "x-gateway-cost": "true" };
    const { headers, text } = await ask(gateway, {}, asked);
    expect(headers.get("x-gateway-cost-usd")).toBe("0.000002005");
    expect(Object.keys((JSON.parse(text) as { usage: object }).usage)).toEqual([
      "prompt_tokens",
      "completion_tokens",
      "total_tokens",
    ]);
    for (const [fields, sent] of [
      [{}, {}],
      [{}, { "x-gateway-cost": "false" }],
      [{ stream: true }, asked],
      [{ base_url: "http://10.0.0.1/v1", api_key: "k" }, asked],
    ] as const)
      expect((await ask(gateway, fields, sent)).headers.get("x-gateway-cost-usd")).toBeNull();
    expect((await ask(gateway, {}, { "x-gateway-cost": "yes" })).outcome).toBe("400 invalid_request x-gateway-cost");
    const browsers = answeringGateway({ snapshot: { corsOrigins: ["https://a.test"] } });
    expect(
      (await ask(browsers, {}, { origin: "https://a.test" })).headers.get("access-control-expose-headers"),
    ).toContain("x-gateway-cost-usd");
  });
});

describe("a price that comes with the request", () => {
  const withPermissions = (...permissions: readonly Permission[]): Stub =>
    answeringGateway({ permissions, snapshot: { prices: OWN } });
  const trusted = withPermissions("custom_price");
  const plain = withPermissions();
  const FIELDS = ["input_cost_per_token", "output_cost_per_token"] as const;

  const TAGS = {
    input_cost_per_token: "[s:gateway.input-cost-per-token]",
    output_cost_per_token: "[s:gateway.output-cost-per-token]",
  } as const;
  for (const name of FIELDS)
    test(`[d4.8] ${TAGS[name]} ${name} is a number from 0 to 1, else the answer is 400; it is sent to no provider`, async () => {
      for (const value of [-0.000_001, 1.000_001, "0.5", true, []])
        expect([value, (await ask(trusted, { [name]: value })).outcome]).toEqual([
          value,
          `400 invalid_request ${name}`,
        ]);
      for (const value of [0, 0.000_001, 1, null]) {
        const { outcome, wire } = await ask(trusted, { [name]: value });
        expect([value, outcome, wire]).toEqual([value, "200", { model: "gpt-4o", messages: [...HELLO] }]);
      }
    });

  for (const stream of [false, true]) {
    test(`[d4.8 s:gateway.input-cost-per-token s:gateway.output-cost-per-token] with the permission custom_price determines the cost of the call, ${stream ? "streamed" : "plain"}`, async () => {
      await ask(trusted, { input_cost_per_token: 0.25, output_cost_per_token: 1e-9, stream });
      expect(lastOf(trusted)).toMatchObject({
        cost: { nanoUsd: 1_250_000_002, priceId: "request" },
        callerCost: null,
        warnings: [],
      });
    });
    test(`[d4.8] without the permission leaves the cost at the known price, so that no price unlocks more spending; it is recorded beside it, and the answer says so, ${stream ? "streamed" : "plain"}`, async () => {
      const { headers, outcome } = await ask(plain, { input_cost_per_token: 0, output_cost_per_token: 0, stream });
      expect([outcome, headers.get("x-gateway-warnings")]).toEqual(["200", "custom_price_not_counted"]);
      expect(lastOf(plain)).toMatchObject({ cost: COST, callerCost: { nanoUsd: 0, priceId: "request" } });
    });
  }

  test.each([
    [EMBEDDINGS, { model: "sandbox:embed-4", input: "Hello" }],
    [RERANK, { model: "sandbox:rerank", query: "Hello", documents: ["one"] }],
    [MESSAGES, { model: MODELS.anthropic, max_tokens: 9, messages: HELLO }],
    [RESPONSES, { model: MODELS.openai, input: "Hello" }],
  ] as const)(
    "[d4.8] without the permission is told in every operation, also of a native call: %#",
    async (of, body) => {
      const response = await handleCall(
        of,
        new Request("http://gateway.test/api/v1/any", {
          method: "POST",
          headers: { authorization: plain.authorization, "content-type": "application/json" },
          body: JSON.stringify({ ...body, x_gateway: { input_cost_per_token: 0.5 } }),
        }),
        plain.context,
      );
      await response.text();
      expect([response.status, response.headers.get("x-gateway-warnings")]).toEqual([
        200,
        expect.stringContaining("custom_price_not_counted"),
      ]);
      expect(lastOf(plain).callerCost).toMatchObject({ priceId: "request" });
    },
  );

  test("[d4.8] for one of the two leaves the other at the known price", async () => {
    await ask(trusted, { input_cost_per_token: 0.5 });
    expect(lastOf(trusted).cost).toEqual({ nanoUsd: 2_500_002_000, priceId: "request" });
    await ask(trusted, { output_cost_per_token: 0 });
    expect(lastOf(trusted).cost).toEqual({ nanoUsd: 5, priceId: "request" });
    await ask(trusted, { output_cost_per_token: 0, model: "openai:of-nobody" });
    expect(lastOf(trusted).cost).toEqual({ nanoUsd: 5, priceId: "request" });
  });

  test("[d4.8] is used also where no other price is known", async () => {
    const unpriced = answeringGateway({ permissions: ["custom_price"] });
    await ask(unpriced, {
      model: "openai:of-nobody",
      input_cost_per_token: 0.000_001,
      output_cost_per_token: 0.000_002,
    });
    expect(lastOf(unpriced).cost).toEqual({ nanoUsd: 9000, priceId: "request" });
    await ask(unpriced, { model: "openai:of-nobody", input_cost_per_token: 0.000_001 });
    expect(lastOf(unpriced).cost).toBeNull();
  });
});

describe("listings", () => {
  test("[d9.1] GET /models shows the price that the caller's calls have", () => {
    const snapshot = answeringGateway({
      snapshot: {
        prices: book({ model: "openai:gpt-4o", prompt: "7", completion: "9", reasoning: "8", request: "0.01" }),
      },
    }).context.snapshot();
    const listed = inOneTurn(
      listModels({ snapshot, scope: { tenantId: "default", projectId: "default" }, restrictions: null, nowMs: 0 }, [], {
        providers,
        builtIn: new Map(),
      }),
    );
    expect(listed.find(({ id }) => id === "openai:gpt-4o")).toMatchObject({
      pricing: { prompt: "0.000007", completion: "0.000009", internal_reasoning: "0.000008", request: "0.01" },
      price_id: "own@3",
    });
  });
});
