// Explanations of calls in the forms of responses and messages: they name each target with the very request that the call
// would send there, in the provider's form or in the client's own, with fallbacks; and refusals keep the client's form
// (promises 12.2 and 9.4).
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { FRONTS } from "../../operations/bridges/fronts.ts";
import type { Piece } from "../../operations/bridges/said.ts";

const CONVERSATION: readonly Piece[] = [
  { role: "user", text: "Who is there?" },
  { role: "assistant", thinking: "A thought." },
  { role: "assistant", call: "call_a", name: "look", input: { at: 1 } },
  { role: "user", result: "call_a", text: "seen" },
  { role: "user", text: "And now?" },
];

/** An effort that Gemini does not have, and its place. */
const EFFORTS: Readonly<Record<string, readonly [fields: JsonObject, path: string]>> = {
  Responses: [{ reasoning: { effort: "xhigh" } }, "reasoning.effort"],
  Messages: [{ output_config: { effort: "xhigh" } }, "output_config.effort"],
};

/** Targets that speak the form themselves and targets that do not, in turns. */
const TARGETS: Readonly<Record<string, readonly string[]>> = {
  Responses: ["openai:gpt-9", "anthropic:claude-sonnet-4-6", "groq:m", "gemini:gemini-3-flash-preview"],
  Messages: ["anthropic:claude-sonnet-4-6", "groq:m", "gemini:gemini-3-flash-preview", "openai:gpt-4.1"],
};
const NATIVE: Readonly<Record<string, RegExp>> = { Responses: /^(?:openai|groq):/, Messages: /^anthropic:/ };

const EXPLAIN = { "x-gateway-explain": "true" };
const failing = (): Stub =>
  stubGateway({
    permissions: ["debug", "byo_endpoint"],
    upstream: cannedUpstream({ status: 500, headers: { "content-type": "application/json" }, body: "{}" }),
  });

describe.each(Object.entries(FRONTS))("%s", (name, front) => {
  const [first, ...fallbacks] = TARGETS[name]!;
  const request = (more: JsonObject = {}): JsonObject => ({
    model: first!,
    ...front.asking(CONVERSATION),
    temperature: 0.5,
    ...more,
    x_gateway: {
      fallbacks: fallbacks.map((model, at) => (at === 0 ? model : { model, temperature: 0.25 })),
      drop_params: true,
    },
  });

  for (const stream of [false, true])
    test(`[d12.2 d9.4] what is explained of each target is what is sent there, ${stream ? "streamed" : "plain"}`, async () => {
      const gateway = failing();
      const body = request(stream ? { stream } : {});
      const explained = await gateway.call(front.operation, body, { headers: EXPLAIN });
      expect([explained.status, explained.headers.get("content-type")]).toEqual([200, "application/json"]);
      const told = (await explained.json()) as any;
      expect(gateway.sent).toHaveLength(0);
      expect([told.object, told.operation, told.stream, told.model]).toEqual([
        "gateway.explanation",
        name.toLowerCase(),
        stream,
        first,
      ]);
      expect(told.targets.map(({ target }: any) => target)).toEqual([first, ...fallbacks]);
      await (await gateway.call(front.operation, body)).text();
      expect(gateway.sent).toHaveLength(1 + fallbacks.length);
      for (const [at, { target, request: would }] of told.targets.entries()) {
        const sent = gateway.sent[at]!;
        expect([target, would.url, would.body_text]).toEqual([target, sent.url, sent.body]);
        expect(JSON.parse(sent.body)).not.toHaveProperty("x_gateway");
        expect([target, sent.url.endsWith(`/${name.toLowerCase()}`)]).toEqual([target, NATIVE[name]!.test(target)]);
        // each entry of the fallbacks has its own parameters
        expect(sent.body).toContain(at < 2 ? '"temperature":0.5' : '"temperature":0.25');
      }
    });

  test("[d12.2 d9.4] a target that does not take the request is left out, and one that none takes is refused in the client's form", async () => {
    const gateway = failing();
    const { x_gateway: own, ...rest } = request({ item_of_tomorrow: { a: 1 } });
    const strict = { ...rest, x_gateway: { ...(own as JsonObject), drop_params: false } };
    const explained = await gateway.call(front.operation, strict, { headers: EXPLAIN });
    const { targets } = (await explained.json()) as any;
    const taking = [first!, ...fallbacks].filter((target) => NATIVE[name]!.test(target));
    expect(targets.filter(({ request: would }: any) => would != null).map(({ target }: any) => target)).toEqual(taking);
    const translated = [first!, ...fallbacks].find((target) => !NATIVE[name]!.test(target))!;
    const alone = { ...rest, model: translated, x_gateway: { drop_params: false } };
    const refused = await gateway.call(front.operation, alone, { headers: EXPLAIN });
    const error = ((await refused.json()) as any).error;
    expect(refused.status).toBe(400);
    if (name === "Messages") {
      expect(error.type).toBe("invalid_request_error");
      expect(refused.headers.get("x-gateway-error-param")).toBe("item_of_tomorrow");
    } else expect([error.code, error.param]).toEqual(["unsupported_parameter", "item_of_tomorrow"]);
  });

  test("[d5.2 d9.4] a target that is passed over says so of the member that the client wrote", async () => {
    const [fields, path] = EFFORTS[name]!;
    const explained = await failing().call(
      front.operation,
      {
        model: first!,
        ...front.asking(CONVERSATION),
        ...fields,
        x_gateway: { fallbacks: ["gemini:gemini-3-flash-preview"], drop_params: true },
      },
      { headers: EXPLAIN },
    );
    const { targets } = (await explained.json()) as any;
    expect(targets[1].passed_over).toMatchObject({ code: "unsupported_value", param: path });
    expect(targets[1].passed_over.message).toStartWith(`${path} `);
  });

  test("[d12.2 d9.4] values that a member names as a secret are hidden where the target is sent what the client wrote", async () => {
    const gateway = failing();
    const secret = "hidden-word-of-tomorrow";
    const body = request({ item_of_tomorrow: { authorization_token: secret, note: `${secret}!` } });
    const explained = await gateway.call(front.operation, body, { headers: EXPLAIN });
    const text = await explained.text();
    expect([explained.status, text.includes(secret)]).toEqual([200, false]);
    expect(text).toContain("authorization_token");
  });

  test("[d12.2 d9.4] without the permission, the refusal has the form of the operation", async () => {
    const gateway = stubGateway({ permissions: [] });
    const refused = await gateway.call(
      front.operation,
      { model: first!, ...front.asking(CONVERSATION) },
      { headers: EXPLAIN },
    );
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject(
      name === "Messages"
        ? { type: "error", error: { type: "permission_error" } }
        : { error: { code: "permission_required", param: expect.anything() } },
    );
  });
});
