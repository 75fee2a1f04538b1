// What holds for every call holds where the target is sent what the client wrote: fallbacks in both directions, retries,
// guards, the response cache, explanations, credentials and clocks.
import { describe, expect, test } from "bun:test";
import { handleCall } from "../../../src/engine/handle.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import { cachedGateway } from "../../harness/cached.ts";
import {
  type CannedAnswer,
  cannedUpstream,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";
import { routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { NATIVE_MESSAGE, NATIVE_RESPONSE } from "./native-answers.ts";

const JSON_TYPE = { "content-type": "application/json" };
const COMPLETION: CannedAnswer = {
  headers: JSON_TYPE,
  body: '{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"Translated"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}',
};
const OVERLOADED: CannedAnswer = {
  status: 529,
  headers: JSON_TYPE,
  body: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
};

const ANTHROPIC = [
  providerSettings({
    id: "anthropic",
    baseUrl: "https://api.anthropic.com",
    credentials: [storedKey("stored-key")],
  }),
];
const ASKED = { model: "anthropic:claude", max_tokens: 9, messages: [{ role: "user", content: "Why?" }] };
const AT_OPENAI = { ...ASKED, model: "openai:gpt-9" };

function ask(stub: Stub, body: JsonObject, headers: Record<string, string> = {}): Promise<Response> {
  return handleCall(
    MESSAGES,
    new Request("http://gateway.test/api/v1/messages", {
      method: "POST",
      headers: { authorization: stub.authorization, ...JSON_TYPE, ...headers },
      body: JSON.stringify(body),
    }),
    stub.context,
  );
}

const gateway = (answer: (request: UpstreamRequest) => CannedAnswer, options: StubOptions = {}): Stub =>
  stubGateway({ upstream: cannedUpstream(answer), ...options });
const textOf = async (response: Response): Promise<unknown> =>
  ((await response.json()) as { readonly content: readonly { readonly text: string }[] }).content[0]!.text;
const bodyOf = ({ body }: UpstreamRequest): JsonObject => JSON.parse(body) as JsonObject;

describe("each target of a call", () => {
  test("[d12.3] is said to have no use for a version or a place of another cloud, as in every form", async () => {
    const answer = await ask(
      gateway(() => NATIVE_MESSAGE),
      { ...ASKED, x_gateway: { vertex_location: "us-east5" } },
    );
    expect([answer.status, answer.headers.get("x-gateway-warnings")]).toEqual([200, "vertex_location_unused"]);
  });

  test("[d12.3] is encoded from the caller's own request: a native one after a translated one, and the reverse", async () => {
    const speaksMessages = ({ url }: UpstreamRequest): boolean => url.endsWith("/v1/messages");
    const later = { x_gateway: { drop_params: true }, thinking_of_tomorrow: { depth: 1 } };
    const toChat = gateway((request) => (speaksMessages(request) ? OVERLOADED : COMPLETION));
    const first = await ask(toChat, {
      ...ASKED,
      ...later,
      x_gateway: { ...later.x_gateway, fallbacks: [{ model: "openai:gpt-9" }] },
    });
    expect(await textOf(first)).toBe("Translated");
    expect(toChat.sent.map(({ url }) => url)).toEqual([
      "https://api.anthropic.com/v1/messages",
      "https://api.openai.com/v1/chat/completions",
    ]);
    expect(bodyOf(toChat.sent[0]!)).toEqual({ ...ASKED, model: "claude", thinking_of_tomorrow: { depth: 1 } });
    expect(bodyOf(toChat.sent[1]!)).not.toHaveProperty("thinking_of_tomorrow");
    expect(first.headers.get("x-gateway-dropped-params")).toBe("thinking_of_tomorrow");

    const toNative = gateway((request) => (speaksMessages(request) ? NATIVE_MESSAGE : { ...OVERLOADED, status: 503 }));
    const second = await ask(toNative, {
      ...AT_OPENAI,
      ...later,
      x_gateway: { ...later.x_gateway, fallbacks: [{ model: "anthropic:claude" }] },
    });
    expect(await textOf(second)).toBe("Native");
    expect(bodyOf(toNative.sent[1]!)).toEqual({ ...ASKED, model: "claude", thinking_of_tomorrow: { depth: 1 } });
    expect(second.headers.get("x-gateway-dropped-params")).toBeNull();
    expect(toNative.records[0]!.attempts.map(({ provider, code }) => [provider, code])).toEqual([
      ["openai", "upstream_overloaded"],
      ["anthropic", null],
    ]);
  });

  test("[d12.3] is passed over where only a native target takes the request, and called where it is one", async () => {
    const only = { ...AT_OPENAI, thinking_of_tomorrow: { depth: 1 } };
    const refused = gateway(() => COMPLETION);
    const response = await ask(refused, only);
    expect({ status: response.status, sent: refused.sent.length }).toEqual({ status: 400, sent: 0 });
    const other = gateway(() => NATIVE_MESSAGE);
    const body = {
      ...only,
      x_gateway: {
        model_list: [
          { model_name: "m", params: { model: "openai:gpt-9" } },
          { model_name: "m", params: { model: "anthropic:claude" }, order: 2 },
        ],
      },
      model: "m",
    };
    expect(await textOf(await ask(other, body))).toBe("Native");
    expect(other.sent).toHaveLength(1);
  });

  test.each<readonly [member: string, path: string, body: JsonObject]>([
    ["top_p below nothing", "top_p", { top_p: -1 }],
    ["a temperature of other vendors", "temperature", { temperature: 1.5 }],
    ["a temperature in words", "temperature", { temperature: "warm" }],
    ["a bound of nothing", "max_tokens", { max_tokens: 0 }],
    ["a budget below the least", "thinking.budget_tokens", { thinking: { type: "enabled", budget_tokens: 10 } }],
    ["a tool without a schema", "tools[0].input_schema", { tools: [{ name: "look" }] }],
    ["a tool with a dot in its name", "tools[0].name", { tools: [{ name: "look.up", input_schema: {} }] }],
    [
      "a choice of a tool without its name",
      "tool_choice.name",
      { tools: [{ name: "look", input_schema: {} }], tool_choice: { type: "tool" } },
    ],
    [
      "empty text",
      "messages[0].content[0].text",
      { messages: [{ role: "user", content: [{ type: "text", text: "" }] }] },
    ],
    [
      "a call without its result",
      "messages[1].content[0]",
      {
        messages: [
          ...ASKED.messages,
          { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] },
        ],
      },
    ],
    [
      "a turn of nothing but an upload",
      "messages",
      { messages: [{ role: "user", content: [{ type: "container_upload", file_id: "f" }] }] },
    ],
    [
      "a tool that a system turn adds",
      "messages[1].content[0]",
      { messages: [...ASKED.messages, { role: "system", content: [{ type: "tool_addition", tool_name: "f" }] }] },
    ],
  ])("[d12.3] %s goes to the form's own vendor as it is, and to no other target", async (_what, path, body) => {
    const native = gateway(() => NATIVE_MESSAGE, { permissions: ["vendor_objects"] });
    expect((await ask(native, { ...ASKED, ...body })).status).toBe(200);
    expect(bodyOf(native.sent[0]!)).toEqual({ ...ASKED, model: "claude", ...body });
    const translated = gateway(() => COMPLETION, { permissions: ["vendor_objects"] });
    const refused = await ask(translated, { ...AT_OPENAI, ...body });
    expect({ status: refused.status, sent: translated.sent.length }).toEqual({ status: 400, sent: 0 });
    expect(await refused.text()).toContain(path);
  });

  test("[d12.3] parameters of a fallback stand in the form's own place, and in the text alone", async () => {
    let calls = 0;
    const stub = gateway(() => (calls++ === 0 ? OVERLOADED : NATIVE_MESSAGE));
    const fallbacks = [{ model: "anthropic:claude-b", max_tokens: 5, temperature: null, top_k: 3 }];
    await ask(stub, { ...ASKED, temperature: 0.5, x_gateway: { fallbacks } });
    expect(stub.sent[1]!.body).toBe(
      '{"model":"claude-b","max_tokens":5,"messages":[{"role":"user","content":"Why?"}],"top_k":3}',
    );
  });

  test("[d12.2] a retry sends the same again, and the record has both attempts", async () => {
    let calls = 0;
    const stub = gateway(() => (calls++ === 0 ? OVERLOADED : NATIVE_MESSAGE));
    expect(await textOf(await ask(stub, { ...ASKED, x_gateway: { num_retries: 1 } }))).toBe("Native");
    expect(stub.sent[1]!.body).toBe(stub.sent[0]!.body);
    expect(stub.records[0]!.attempts).toHaveLength(2);
  });
});

describe("what governs a call", () => {
  test("[d12.2 d3.3] a guard on answers makes every target one of the translation, which it searches", async () => {
    const policies = policiesFor({ name: "no-pii", guard: { classes: ["email"], action: "mask", on: "output" } });
    const said = { ...NATIVE_MESSAGE, body: (NATIVE_MESSAGE.body as string).replace("Native", "ada@mail.example.org") };
    const stub = gateway(() => said, { snapshot: { policies } });
    expect(await (await ask(stub, ASKED)).text()).not.toContain("ada@mail");
    // what the translation cannot say is refused
    expect((await ask(stub, { ...ASKED, thinking_of_tomorrow: { to: "x" } })).status).toBe(400);
    expect(stub.sent).toHaveLength(1);
  });

  test("[d12.2 d9.4] an explanation says why a target is sent the translation", async () => {
    const forms = async (options: StubOptions, body: JsonObject = ASKED): Promise<unknown> => {
      const stub = gateway(() => NATIVE_MESSAGE, { permissions: ["debug"], ...options });
      const explained = (await (await ask(stub, body, { "x-gateway-explain": "true" })).json()) as {
        readonly targets: readonly { readonly form: unknown }[];
      };
      return explained.targets[0]!.form;
    };
    const guarded = (on: string): StubOptions => ({
      snapshot: { policies: policiesFor({ name: "no-pii", guard: { classes: ["email"], action: "mask", on } }) },
    });
    expect(await forms({})).toEqual({ native: true, translated_because: null });
    expect(await forms(guarded("input"))).toEqual({ native: true, translated_because: null });
    expect(await forms(guarded("output"))).toEqual({ native: false, translated_because: "output_guard" });
    expect(await forms({}, AT_OPENAI)).toEqual({ native: false, translated_because: "not_spoken" });
    const added = { ...AT_OPENAI, x_gateway: { fallbacks: [{ model: "anthropic:claude", stop: ["x"] }] } };
    const stub = gateway(() => NATIVE_MESSAGE, { permissions: ["debug"] });
    const explained = await (await ask(stub, added, { "x-gateway-explain": "true" })).json();
    expect((explained as any).targets[1].form).toEqual({ native: false, translated_because: "parameter" });
  });

  test("[d12.2 d13.4] kept answers are those of the exact body, also of members that the gateway does not know", async () => {
    const stub = cachedGateway({ providers: ANTHROPIC, answer: NATIVE_MESSAGE });
    const heard = async (body: JsonObject, headers: Record<string, string> = {}) => {
      const response = await ask(stub, body, headers);
      return [response.headers.get("x-gateway-cache"), await textOf(response)];
    };
    expect(await heard({ ...ASKED, new: 1 })).toEqual(["miss", "Native"]);
    expect(await heard({ ...ASKED, new: 1 })).toEqual(["hit", "Native"]);
    expect(await heard({ ...ASKED, new: 2 })).toEqual(["miss", "Native"]);
    expect(await heard({ ...ASKED, new: 1 }, { "anthropic-beta": "b-1" })).toEqual(["miss", "Native"]);
    expect(stub.sent).toHaveLength(3);
  });

  test("[d13.5] a message from the cache has an id of its own, plain and streamed, and nothing else differs", async () => {
    const event = (type: string, members: JsonObject): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
    const message = JSON.parse(NATIVE_MESSAGE.body as string) as JsonObject;
    const streamed: CannedAnswer = {
      headers: { "content-type": "text/event-stream" },
      body: [
        event("message_start", { message: { ...message, content: [], stop_reason: null } }),
        event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
        event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Native" } }),
        event("content_block_stop", { index: 0 }),
        event("message_delta", {
          delta: { stop_reason: "end_turn", stop_sequence: null },
          usage: { output_tokens: 2 },
        }),
        event("message_stop", {}),
      ].join(""),
    };
    for (const [answer, stream] of [
      [NATIVE_MESSAGE, false],
      [streamed, true],
    ] as const) {
      const stub = cachedGateway({ answer, providers: ANTHROPIC });
      const heard = async () => {
        const response = await ask(stub, { ...ASKED, stream });
        return { text: await response.text(), traceId: response.headers.get("x-gateway-trace-id") };
      };
      const [first, second] = [await heard(), await heard()];
      expect(first.text).toContain('"msg_1"');
      expect(second.text).toBe(first.text.replace('"msg_1"', `"msg_${second.traceId}"`));
      expect(stub.sent).toHaveLength(1);
    }
  });

  test.each([
    [MESSAGES, ASKED, "anthropic:claude", { thinking: { type: "disabled" } }, { thinking: { type: "adaptive" } }],
    [
      RESPONSES,
      { input: "Why?" },
      "openai:gpt-5",
      { reasoning: { effort: "high" } },
      { reasoning: { summary: "auto" } },
    ],
    [RESPONSES, { input: "Why?" }, "openai:gpt-5", { truncation: "disabled" }, { truncation: "auto" }],
  ] as const)(
    "[d12.3] the parameters of a route's target replace no member of the client's own form: %#",
    async (operation, asked, name, own, params) => {
      const target = { name, params: params as JsonObject };
      const native = gateway(({ url }) => (url.endsWith("/messages") ? NATIVE_MESSAGE : NATIVE_RESPONSE), {
        snapshot: { routes: new Map([["r", routeOf("r", [target])]]) },
      });
      for (const members of [own, {}]) {
        const answer = await native.call(operation, { ...asked, ...members, model: "r" });
        expect(answer.status).toBe(200);
      }
      expect(bodyOf(native.sent[0]!)).toMatchObject(own);
      expect(Object.keys(bodyOf(native.sent[0]!)["reasoning"] ?? {})).toEqual("reasoning" in own ? ["effort"] : []);
      expect(bodyOf(native.sent[1]!)).toMatchObject(params);
    },
  );

  test.each([
    [MESSAGES, ASKED, "anthropic:claude"],
    [RESPONSES, { input: "Why?" }, "openai:gpt-5"],
  ] as const)(
    "[d12.4] no target is asked for several answers, which the form has no place for: %#",
    async (operation, asked, native) => {
      const translated = "mistral:m";
      const answer = ({ url }: UpstreamRequest): CannedAnswer =>
        url.endsWith("/messages") ? NATIVE_MESSAGE : url.endsWith("/responses") ? NATIVE_RESPONSE : COMPLETION;
      for (const model of [translated, native])
        for (const n of [1, 2]) {
          const ofRoute = gateway(answer, {
            snapshot: { routes: new Map([["r", routeOf("r", [{ name: model, params: { n, temperature: 0.5 } }])]]) },
          });
          const head = await ofRoute.call(operation, { ...asked, model: "r" });
          expect([head.status, head.headers.get("x-gateway-dropped-params")]).toEqual([
            200,
            n === 2 && model === translated ? "n" : null,
          ]);
          expect(bodyOf(ofRoute.sent[0]!)).toMatchObject({ temperature: 0.5 });
          expect(bodyOf(ofRoute.sent[0]!)).not.toHaveProperty("n");
          expect(ofRoute.sent[0]!.url).toEndWith(
            model === translated ? "/chat/completions" : native.startsWith("openai") ? "/responses" : "/messages",
          );
          const ofCaller = gateway(answer);
          const { status, headers } = await ofCaller.call(operation, {
            ...asked,
            model: native,
            x_gateway: { fallbacks: [{ model, n }] },
          });
          expect([status, headers.get("x-gateway-error-param"), ofCaller.sent.length]).toEqual(
            n === 1 ? [200, null, 1] : [400, "fallbacks[0].n", 0],
          );
        }
    },
  );

  test("[d12.7] figures that cannot be are 0 for the client, as those that are missing, and an estimate in the record", async () => {
    const event = (type: string, members: JsonObject): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
    const message = JSON.parse(NATIVE_MESSAGE.body as string) as JsonObject;
    const response = JSON.parse(NATIVE_RESPONSE.body as string) as JsonObject;
    for (const figure of [-5, 1e300, 0.5, "12", null]) {
      const usage = { input_tokens: figure, output_tokens: figure };
      const begun = { ...message, content: [], stop_reason: null, usage };
      const streamed = [
        event("message_start", { message: begun }),
        event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
        event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Native" } }),
        event("content_block_stop", { index: 0 }),
        event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: figure } }),
        event("message_stop", {}),
      ].join("");
      for (const [operation, asked, answer] of [
        [MESSAGES, ASKED, { headers: JSON_TYPE, body: JSON.stringify({ ...message, usage }) }],
        [MESSAGES, { ...ASKED, stream: true }, { headers: { "content-type": "text/event-stream" }, body: streamed }],
        [
          RESPONSES,
          { model: "openai:gpt-5", input: "Why?" },
          {
            headers: JSON_TYPE,
            body: JSON.stringify({
              ...response,
              usage: { ...usage, total_tokens: figure, input_tokens_details: { cached_tokens: figure } },
            }),
          },
        ],
      ] as const) {
        const stub = gateway(() => answer);
        const text = await (await stub.call(operation, asked)).text();
        const told = [...text.matchAll(/"(?:[a-z]+_tokens)":("?[^,}]*)/g)].map(([, value]) => value);
        expect([operation.name, figure, ...new Set(told)]).toEqual([operation.name, figure, "0"]);
        expect(stub.records[0]).toMatchObject({ status: 200, usageSource: "estimated" });
      }
    }
  });

  test("[d12.2 d9.4] an explanation shows the body that would be sent", async () => {
    const stub = gateway(() => NATIVE_MESSAGE, { permissions: ["debug"] });
    const response = await ask(stub, { ...ASKED, new: [1] }, { "x-gateway-explain": "true", "anthropic-beta": "b-1" });
    const { targets } = (await response.json()) as {
      readonly targets: readonly { readonly request: JsonObject; readonly dropped: unknown }[];
    };
    expect(targets[0]!.request).toMatchObject({
      url: "https://api.anthropic.com/v1/messages",
      body: { ...ASKED, model: "claude", new: [1] },
      headers: { "anthropic-beta": "b-1" },
    });
    expect(stub.sent).toHaveLength(0);
  });

  test.each([
    ["messages", MESSAGES, ASKED, NATIVE_MESSAGE],
    ["responses", RESPONSES, { model: "litellm:gpt-9", input: "Why?", store: false }, NATIVE_RESPONSE],
  ] as const)(
    "[d12.3 d2.4] a member of %s by which another gateway would choose a model, an address or a credential needs byo_endpoint",
    async (_name, operation, asked, answer) => {
      const at = (permissions: StubOptions["permissions"] & object): Stub =>
        gateway(() => answer, {
          permissions,
          providers: [
            providerSettings({
              id: "litellm",
              baseUrl: "http://litellm.test/v1",
              credentials: [storedKey("stored-key")],
              native: ["messages", "responses"],
            }),
          ],
        });
      const body = { ...asked, model: "litellm:gpt-9" };
      for (const name of [
        "base_url",
        "api_base",
        "api_key",
        "api_version",
        "deployment_id",
        "model_list",
        "headers",
        "extra_headers",
        "fallbacks",
        "context_window_fallback_dict",
        "aws_role_name",
        "vertex_project",
      ]) {
        const [bare, permitted] = [at([]), at(["byo_endpoint"])];
        const refused = await bare.call(operation, { ...body, [name]: "x" });
        expect([
          name,
          refused.status,
          refused.headers.get("x-gateway-error-code"),
          refused.headers.get("x-gateway-error-param"),
          bare.sent.length,
        ]).toEqual([name, 403, "permission_required", name, 0]);
        expect([name, (await permitted.call(operation, { ...body, [name]: "x" })).status]).toEqual([name, 200]);
        expect(bodyOf(permitted.sent[0]!)).toMatchObject({ [name]: "x" });
      }
      const unset = at([]);
      expect((await unset.call(operation, { ...body, api_base: null })).status).toBe(200);
    },
  );

  test("[d2.1 d12.2] tenant_id and project_id beside the members of the form are refused, and go to no provider", async () => {
    for (const [operation, asked, answer] of [
      [MESSAGES, ASKED, NATIVE_MESSAGE],
      [RESPONSES, { model: "openai:gpt-9", input: "Why?", store: false }, NATIVE_RESPONSE],
    ] as const)
      for (const name of ["tenant_id", "project_id"])
        for (const scope of ["default", "other"]) {
          const stub = stubGateway({ upstream: cannedUpstream(answer) });
          const refused = await stub.call(operation, { ...asked, [name]: scope });
          expect([
            operation.name,
            refused.status,
            refused.headers.get("x-gateway-error-code"),
            refused.headers.get("x-gateway-error-param"),
            stub.sent.length,
          ]).toEqual([operation.name, 400, "invalid_request", name, 0]);
          const within = await stub.call(operation, { ...asked, x_gateway: { [name]: scope } });
          expect(within.status).toBe(scope === "default" ? 200 : 403);
        }
  });

  test.each([
    ["functions", [{ name: "look" }]],
    ["function_call", "auto"],
  ] as const)(
    "[d12.2 d12.4] x_gateway.%s has no answer in these forms and is refused, native or not",
    async (name, value) => {
      for (const [operation, asked] of [
        [MESSAGES, ASKED],
        [MESSAGES, AT_OPENAI],
        [RESPONSES, { model: "openai:gpt-9", input: "Why?" }],
        [RESPONSES, { model: "anthropic:claude", input: "Why?" }],
      ] as const) {
        const stub = stubGateway({ upstream: cannedUpstream(COMPLETION) });
        const refused = await stub.call(operation, { ...asked, x_gateway: { [name]: value } });
        expect([
          refused.status,
          refused.headers.get("x-gateway-error-code"),
          refused.headers.get("x-gateway-error-param"),
          stub.sent.length,
        ]).toEqual([400, "invalid_request", `x_gateway.${name}`, 0]);
      }
    },
  );

  test("[d1.7 d12.2] x_gateway.deployment_id is called at Azure, and refused or dropped by name elsewhere", async () => {
    const own = { x_gateway: { deployment_id: "team-9" } };
    const azure = gateway(() => COMPLETION);
    expect((await azure.call(RESPONSES, { model: "azure:gpt-9", input: "Why?", ...own })).status).toBe(200);
    const { url, body } = azure.sent[0]!;
    expect(`${url} ${body}`).toContain("team-9");
    for (const [operation, asked, answer] of [
      [MESSAGES, ASKED, NATIVE_MESSAGE],
      [RESPONSES, { model: "openai:gpt-9", input: "Why?" }, COMPLETION],
    ] as const) {
      const elsewhere = gateway(() => answer);
      const refused = await elsewhere.call(operation, { ...asked, ...own });
      expect([
        refused.status,
        refused.headers.get("x-gateway-error-code"),
        refused.headers.get("x-gateway-error-param"),
        elsewhere.sent.length,
      ]).toEqual([400, "unsupported_parameter", "x_gateway.deployment_id", 0]);
      const x_gateway = { ...own.x_gateway, drop_params: true };
      const dropped = await elsewhere.call(operation, { ...asked, x_gateway });
      expect([dropped.status, dropped.headers.get("x-gateway-dropped-params")]).toEqual([
        200,
        "x_gateway.deployment_id",
      ]);
    }
  });

  test("[d12.3 d2.9] two tenants' calls go out with their own credentials, and neither sees the other's", async () => {
    const of = (key: string): StubOptions => ({
      providers: [
        providerSettings({
          id: "anthropic",
          baseUrl: "https://api.anthropic.com",
          credentials: [storedKey(key)],
          owner: "acme",
        }),
      ],
    });
    const echo = (request: UpstreamRequest): CannedAnswer => ({
      ...NATIVE_MESSAGE,
      body: (NATIVE_MESSAGE.body as string).replace("Native", `your key is ${request.headers["x-api-key"]}`),
    });
    for (const key of ["sk-acme-0123456789abcdef0123", "sk-globex-9876543210fedcba98"]) {
      const stub = gateway(echo, of(key));
      const text = await (await ask(stub, ASKED)).text();
      expect(stub.sent[0]!.headers["x-api-key"]).toBe(key);
      expect(text).not.toContain(key);
    }
  });
});
