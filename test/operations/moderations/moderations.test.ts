// The operation moderations: what goes out is what the client wrote, and what the vendor says comes back.
import { describe, expect, test } from "bun:test";
import { MODERATIONS } from "../../../src/operations/moderations/moderations.ts";
import { cachedGateway } from "../../harness/cached.ts";
import { cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { policiesFor } from "../../policies/policy-documents.ts";

type Body = Readonly<Record<string, any>>;
const JUDGED = {
  id: "modr-1",
  model: "omni-moderation-2024-09-26",
  results: [
    { flagged: true, categories: { violence: true, odd: false }, category_scores: { violence: 0.9, odd: 1e-9 } },
  ],
};
const gatewayOf = (answer: unknown = JUDGED): Stub =>
  stubGateway({ operation: MODERATIONS, upstream: cannedUpstream({ body: JSON.stringify(answer) }) });

describe("moderations", () => {
  const parts = [
    { type: "text", text: "a" },
    { type: "image_url", image_url: { url: "https://images.example/a.png" } },
  ];
  const [judged] = JUDGED.results;
  for (const [input, results] of [
    ["a", [judged]],
    [
      ["a", "b"],
      [judged, judged],
    ],
    [parts, [judged]],
  ])
    test(`[d12.1] of ${JSON.stringify(input).slice(0, 20)} go to the vendor, whose words come back but for the model`, async () => {
      const gateway = gatewayOf({ ...JUDGED, results });
      const response = await gateway.chat({ model: "openai:omni-moderation-latest", input });
      expect([response.status, await response.json()]).toEqual([
        200,
        { ...JUDGED, results, model: "openai:omni-moderation-latest" },
      ]);
      expect([gateway.sent[0]!.url, JSON.parse(gateway.sent[0]!.body)]).toEqual([
        "https://api.openai.com/v1/moderations",
        { model: "omni-moderation-latest", input },
      ]);
      expect(gateway.records[0]).toMatchObject({ operation: "moderations", providerModel: JUDGED.model });
    });
  test("[d13.5] an answer from the cache has an id of its own", async () => {
    const gateway = cachedGateway({
      operation: MODERATIONS,
      providers: [providerSettings({ id: "openai", credentials: [storedKey("k")] })],
      answer: { headers: { "content-type": "application/json" }, body: JSON.stringify(JUDGED) },
    });
    const heard = async (): Promise<Body> => {
      const response = await gateway.chat({ model: "openai:omni-moderation-latest", input: "a" });
      return { ...((await response.json()) as Body), traceId: response.headers.get("x-gateway-trace-id") };
    };
    const [first, second] = [await heard(), await heard()];
    expect([gateway.sent.length, first["id"], second["id"]]).toEqual([1, JUDGED.id, `modr-${second["traceId"]}`]);
    expect(second["results"]).toEqual(first["results"]);
  });
  test("[d12.1] go to Mistral with its own categories", async () => {
    const answer = { id: "m", model: "mistral-moderation-2411", results: [{ categories: { pii: false } }] };
    const gateway = gatewayOf(answer);
    const response = await gateway.chat({ model: "mistral:mistral-moderation-latest", input: ["a"] });
    expect(((await response.json()) as Body)["results"]).toEqual(answer.results);
    expect(gateway.sent[0]!.url).toBe("https://api.mistral.ai/v1/moderations");
  });
  const REFUSED: readonly (readonly [string, Body, string])[] = [
    ["no input", { input: undefined }, "input"],
    ["an empty list", { input: [] }, "input"],
    ["a part after a text", { input: ["a", { type: "text", text: "b" }] }, "input[1]"],
    ["a text after a part", { input: [{ type: "text", text: "b" }, "a"] }, "input[1]"],
    ["a field of conversations", { stop: "a" }, "stop"],
    ["a model without moderations", { model: "cohere:command-a" }, "model"],
    ["a model of Azure", { model: "azure:gpt-5" }, "model"],
  ];
  for (const [what, fields, param] of REFUSED)
    test(`[d12.1 d12.6] ${what} is 400 with its path`, async () => {
      const gateway = gatewayOf();
      const response = await gateway.chat({ model: "openai:omni-moderation-latest", input: "a", ...fields });
      const { error } = (await response.json()) as Body;
      expect([response.status, error["param"], gateway.sent.length]).toEqual([400, param, 0]);
    });
  const MALFORMED: readonly (readonly [string, unknown, readonly unknown[] | undefined])[] = [
    ["without results", "a", undefined],
    ["with no result for a text", "a", []],
    ["with no result for parts", parts, []],
    ["with fewer results than texts", ["a", "b"], JUDGED.results],
    ["with more results than texts", ["a"], [...JUDGED.results, ...JUDGED.results]],
    ["with a result that is none", ["a", "b"], [...JUDGED.results, null]],
  ];
  for (const [what, input, results] of MALFORMED)
    test(`[d12.1] an answer ${what} is 502, so that no text counts as judged`, async () => {
      const gateway = gatewayOf({ ...JUDGED, results });
      const response = await gateway.chat({ model: "openai:omni-moderation-latest", input });
      const { error } = (await response.json()) as Body;
      expect([response.status, error["code"]]).toEqual([502, "upstream_invalid_response"]);
    });
});

describe("guards on answers", () => {
  const told = { ...JUDGED, results: [{ flagged: true, categories: { "secret-keeping": true }, reason: "a secret" }] };
  const guarded = (action: string): Stub =>
    stubGateway({
      operation: MODERATIONS,
      upstream: cannedUpstream({ body: JSON.stringify(told) }),
      snapshot: { policies: policiesFor({ name: "g", guard: { patterns: ["secret"], action, on: "output" } }) },
    });
  const ask = (gateway: Stub): Promise<Response> =>
    gateway.chat({ model: "openai:omni-moderation-latest", input: "a" });

  test("[d3.5 d12.2] mask texts of the vendor, and leave the names of categories", async () => {
    const gateway = guarded("mask");
    const { results } = (await (await ask(gateway)).json()) as Body;
    expect(results).toEqual([{ ...told.results[0], reason: "a [masked]" }]);
    expect(gateway.records[0]!.policies).toEqual([{ name: "g", effect: "masked" }]);
  });
  test("[d3.5 d12.2 d4.2] block an answer, which is charged all the same", async () => {
    const gateway = guarded("block");
    const response = await ask(gateway);
    expect([response.status, ((await response.json()) as Body)["error"].code]).toEqual([403, "policy_violation"]);
    expect(gateway.records[0]).toMatchObject({ usage: { total_tokens: 1 }, attempts: [{ code: "policy_violation" }] });
  });
});
