// What a provider's own refusal of a call that it speaks itself leads to (promise 12.6).
import { describe, expect, test } from "bun:test";
import type { Operation } from "../../src/engine/operation.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { MESSAGES } from "../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import { type CannedAnswer, cannedUpstream, stubGateway } from "../harness/in-process.ts";
import { routeOf, type RouteParts } from "../harness/routed.ts";
import { providerSettings, storedKey } from "../harness/targets.ts";

const refusal = (message: string): string =>
  JSON.stringify({ type: "error", error: { type: "invalid_request_error", message }, request_id: "req_1" });
const FEATURE = refusal("effort: not here");

interface Asked {
  readonly operation?: Operation;
  readonly body?: JsonObject;
  readonly route?: RouteParts;
  readonly answer?: Partial<CannedAnswer>;
  readonly native?: readonly ("messages" | "responses")[];
}

/** Asks a route whose first target refuses, and whose fallback would answer. */
async function asked({ operation = MESSAGES, body = {}, route = {}, answer = {}, native = ["messages"] }: Asked) {
  const gateway = stubGateway({
    upstream: cannedUpstream({
      status: 400,
      body: FEATURE,
      headers: { "content-type": "application/json" },
      ...answer,
    }),
    providers: ["up0", "up1"].map((id) =>
      providerSettings({
        id,
        family: "custom",
        baseUrl: `http://${id}.test/v1`,
        credentials: [storedKey(`key-of-${id}`)],
        native,
      }),
    ),
    snapshot: { routes: new Map([["r", routeOf("r", ["up0:m"], { fallbacks: ["up1:m"], ...route })]]) },
  });
  const response = await gateway.call(operation, {
    model: "r",
    max_tokens: 9,
    messages: [{ role: "user", content: "Why?" }],
    ...body,
  });
  return {
    status: response.status,
    text: await response.text(),
    called: gateway.sent.map(({ url }) => new URL(url).hostname.split(".")[0]),
  };
}

test("[d5.2, d12.3] a native target names the field that the client wrote, whatever place that has in the translation", async () => {
  const f = (name: string) => ({ type: "function", name, parameters: {} });
  const { text } = await asked({
    operation: RESPONSES,
    native: ["responses"],
    route: { fallbacks: [] },
    body: {
      messages: undefined,
      max_tokens: undefined,
      input: "Why?",
      tools: [{ type: "namespace", name: "n", tools: [f("a"), f("b")] }, f("c")],
    },
    answer: {
      status: 422,
      body: '{"error":{"message":"Not a schema.","type":"invalid_request_error","param":"tools[1].parameters"}}',
    },
  });
  expect(JSON.parse(text)).toMatchObject({ error: { param: "tools[1].parameters" } });
});

describe("a refusal of a native target of messages", () => {
  test("[d12.6] ends the call and reaches the client, whatever fallbacks route and request have", async () => {
    for (const status of [400, 413])
      for (const body of [{}, { stream: true }, { x_gateway: { fallbacks: ["up1:m"] } }])
        expect(await asked({ body, answer: { status } })).toEqual({ status, text: FEATURE, called: ["up0"] });
  });

  test("[d12.6] is followed by fallbacks where the route says so", async () => {
    const { called } = await asked({ route: { fallbackOnRefusal: true } });
    expect(called).toEqual(["up0", "up1"]);
  });

  test("[d12.6] is followed by the route's own list where the conversation is too long, and by fallbacks after other failures", async () => {
    const long = await asked({
      answer: { body: refusal("prompt is too long: 9 tokens > 8 maximum") },
      route: { fallbacks: [], contextWindowFallbacks: new Map([["up0:m", "up1:m"]]) },
    });
    expect(long.called).toEqual(["up0", "up1"]);
    for (const status of [404, 429, 500]) expect((await asked({ answer: { status } })).called).toContain("up1");
  });

  test("[d12.6] is that of the provider alone: a target that is sent the translation has its fallbacks", async () => {
    expect((await asked({ native: [] })).called).toEqual(["up0", "up1"]);
  });

  test("[d7.3 d12.6] responses have their fallbacks after every refusal", async () => {
    const body = { messages: undefined, max_tokens: undefined, input: "Why?" } as unknown as JsonObject;
    const { called } = await asked({ operation: RESPONSES, body, native: ["responses"] });
    expect(called).toEqual(["up0", "up1"]);
  });
});

test("[d5.2] a block that a target does not take is named as the client named it, with its path", async () => {
  const gateway = stubGateway({ upstream: cannedUpstream({ body: "" }) });
  for (const [model, block, type] of [
    ["upstage:solar", { type: "input_image", image_url: "https://example.com/a.png" }, "input_image"],
    [
      "cohere:m",
      { type: "input_file", file_data: "data:application/pdf;base64,JVBERi0=", filename: "a.pdf" },
      "input_file",
    ],
  ] as const) {
    const response = await gateway.call(RESPONSES, {
      model,
      input: [{ role: "user", content: [{ type: "input_text", text: "What is it?" }, block] }],
    });
    const { error } = (await response.json()) as { error: { message: string; code: string; param: string } };
    expect([model, error.code, error.param.startsWith("input[0]")]).toEqual([model, "unsupported_content_block", true]);
    expect(error.message).toMatch(new RegExp(`\\bof type "?${type}\\b`));
    expect(error.message).not.toContain("messages[");
  }
});
