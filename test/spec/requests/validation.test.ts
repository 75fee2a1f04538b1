// Chapter 5 of the promises: the form of errors, the path in `param`, and the bounds of every field; with the
// specification's limits. Messages, tools and bodies have files of their own beside this one.
import { describe, expect, test } from "bun:test";
import { serverSection } from "../../../src/config/sections.ts";
import { CATALOGUE } from "../../../src/core/errors.ts";
import { COMMON, FIELDS, GATEWAY } from "../../../src/core/params.ts";
import { stubGateway } from "../../harness/in-process.ts";
import { answeringGateway, ask, FAMILIES, HELLO, MODELS, TOOL, WEATHER } from "../chat-calls.ts";
import type { UpstreamCall } from "../../../src/wire/upstream.ts";

const gateway = answeringGateway();
const outcomeOf = async (fields: Readonly<Record<string, unknown>>): Promise<string> =>
  (await ask(gateway, fields)).outcome;

/** One call for each value: what came of it, beside the value. */
async function outcomes(
  name: string,
  values: readonly unknown[],
  beside: Readonly<Record<string, unknown>> = {},
): Promise<readonly (readonly [unknown, string])[]> {
  const all: (readonly [unknown, string])[] = [];
  for (const value of values) all.push([value, await outcomeOf({ ...beside, [name]: value })]);
  return all;
}
const allOf = (values: readonly unknown[], outcome: string): readonly (readonly [unknown, string])[] =>
  values.map((value) => [value, outcome]);

/** Both bounds and what lies just inside are taken; everything else is 400 with the field's name. */
async function provesBounds(
  name: string,
  inside: readonly unknown[],
  externalClients: readonly unknown[],
  beside: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  expect(await outcomes(name, inside, beside)).toEqual(allOf(inside, "200"));
  expect(await outcomes(name, externalClients, beside)).toEqual(allOf(externalClients, `400 invalid_request ${name}`));
}

describe("the form of errors", () => {
  test("[d5.1] every error has the one body, a code of the catalogue with its status and type, and the trace id in body and head", async () => {
    // ask() itself throws when an error is not in the form
    const seen = [
      await ask(gateway, "no JSON"),
      await ask(gateway, { messages: 5 }),
      await ask(gateway, { model: "nobody:m" }),
      await ask(gateway, { route: "unknown" }),
      await ask(gateway, { model: MODELS.anthropic, seed: 1 }),
      await ask(gateway, {}, { authorization: "" }),
      await ask(gateway, {}, { "content-type": "text/plain" }),
      await ask(gateway, { tenant_id: "other" }),
      await ask(stubGateway(), {}),
    ];
    expect(seen.map(({ outcome }) => outcome)).toEqual([
      "400 invalid_json null",
      "400 invalid_request messages",
      "404 model_not_found model",
      "404 route_not_found route",
      "400 unsupported_parameter seed",
      "401 missing_token null",
      "415 unsupported_media_type null",
      "403 scope_mismatch tenant_id",
      "502 upstream_connection null",
    ]);
    expect(new Set(seen.map(({ headers }) => headers.get("x-request-id"))).size).toBe(seen.length);
  });

  test("[d5.1] x-request-id and x-gateway-trace-id are on every answer, plain and streamed, and are the trace id that stands in the body", async () => {
    for (const stream of [false, true]) {
      const { status, headers, text } = await ask(gateway, { stream });
      const traceId = /"x_gateway_trace_id":"([0-9a-f]{32})"/.exec(text)?.[1];
      expect([status, headers.get("x-request-id"), headers.get("x-gateway-trace-id")]).toEqual([
        200,
        traceId!,
        traceId!,
      ]);
    }
  });

  test("[d5.1] an internal error is a 500 in the same form, and reveals nothing", async () => {
    const broken = answeringGateway({
      upstream: { send: () => Promise.reject(new TypeError("secret words of a fault")) },
    });
    const { outcome, text } = await ask(broken, {});
    expect(outcome).toBe("500 internal_error null");
    expect(text).not.toContain("secret words");
    expect(broken.records[0]!.errorDetail).toContain("secret words");
  });

  test("[d5.1] the codes of the catalogue are in snake case, each with meaning and cure", () => {
    for (const [code, { meaning, cure, status }] of Object.entries(CATALOGUE)) {
      expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(meaning.length > 0 && cure.length > 0 && status >= 400 && status < 600).toBe(true);
    }
  });
});

describe("param and message", () => {
  const CASES: readonly (readonly [
    fields: Readonly<Record<string, unknown>>,
    param: string,
    expected: RegExp,
    got: RegExp,
  ])[] = [
    [{ temperature: "warm" }, "temperature", /a number from 0 to 2/, /got the string "warm"/],
    [{ n: 1.5 }, "n", /an integer from 1 to 128/, /got the number 1\.5/],
    [{ stream: "yes" }, "stream", /true or false/, /got the string "yes"/],
    [{ user: 7 }, "user", /a string/, /got the number 7/],
    [{ messages: undefined }, "messages", /an array of at least one message/, /got nothing/],
    [{ messages: [] }, "messages", /at least one message/, /got an empty array/],
    [
      { messages: [...HELLO, { role: "wizard", content: "x" }] },
      "messages[1].role",
      /system, developer, user, assistant, function, tool/,
      /got the string "wizard"/,
    ],
    [
      {
        messages: [
          ...HELLO,
          ...HELLO,
          {
            role: "user",
            content: [
              { type: "text", text: "x" },
              { type: "image_url", image_url: { url: 5 } },
            ],
          },
        ],
      },
      "messages[2].content[1].image_url.url",
      /a string/,
      /got the number 5/,
    ],
    [
      { tools: [TOOL, { type: "function", function: { name: "no spaces" } }] },
      "tools[1].function.name",
      /1 to 64 letters/,
      /got the string "no spaces"/,
    ],
    [
      { stream: true, stream_options: { include_usage: 1 } },
      "stream_options.include_usage",
      /true or false/,
      /got the number 1/,
    ],
    [
      { response_format: { type: "json_schema", json_schema: { schema: {} } } },
      "response_format.json_schema.name",
      /present/,
      /got nothing/,
    ],
    [
      { response_format: { type: "xml" } },
      "response_format.type",
      /"text", "json_object", "json_schema"/,
      /got the string "xml"/,
    ],
    [{ modalities: ["text", 5] }, "modalities[1]", /a string/, /got the number 5/],
    [{ functions: [WEATHER, { name: "" }] }, "functions[1].name", /1 to 64 letters/, /got the string ""/],
    [{ extra_headers: { "x-a": "1", "x-b": 2 } }, "extra_headers.x-b", /a string/, /got the number 2/],
    [{ fallbacks: ["a", 5] }, "fallbacks[1]", /a string or an object/, /got the number 5/],
    [{ fallbacks: [{ temperature: 1 }] }, "fallbacks[0].model", /present, or route/, /got nothing/],
    [{ fallbacks: ["a", { model: 5 }] }, "fallbacks[1].model", /a string/, /got the number 5/],
    [
      { context_window_fallback_dict: { small: ["large"] } },
      "context_window_fallback_dict.small",
      /a string/,
      /got an array/,
    ],
    [
      { model_list: [{ model_name: "m", params: { api_key: "k" } }] },
      "model_list[0].params.model",
      /present/,
      /got nothing/,
    ],
    [
      { model_list: [{ model_name: "m", params: { model: "openai:m" }, order: -1 }] },
      "model_list[0].order",
      /an integer/,
      /got the number -1/,
    ],
    [{ roles: { user: "User: " } }, "roles.user", /an object/, /got the string "User: "/],
    [{ roles: { user: { pre_message: 5 } } }, "roles.user.pre_message", /a string/, /got the number 5/],
    [{ user: ["a"] }, "user", /a string/, /got an array/],
    [{ logit_bias: [] }, "logit_bias", /an object/, /got an array/],
    [{ tools: {} }, "tools", /an array/, /got an object/],
    [{ temperature: "x".repeat(100_000) }, "temperature", /a number/, /got a string of 100000 characters/],
  ];
  for (const [fields, param, expected, got] of CASES) {
    test(`[d5.2] param is the path ${param}, and the message says what was expected (${expected.source}) and what was sent (${got.source})`, async () => {
      const { outcome, error, wire } = await ask(gateway, fields);
      expect(outcome).toBe(`400 invalid_request ${param}`);
      expect(error!.message).toMatch(expected);
      expect(error!.message).toMatch(got);
      expect(error!.message.length).toBeLessThan(300);
      expect(wire).toBeNull();
    });
  }

  const OPTIONAL = [...FIELDS.keys()].filter((name) => name !== "model" && name !== "messages");
  test(`[d5.2] null means "not set" for each of the ${OPTIONAL.length} optional fields: the provider gets what it gets without it`, async () => {
    expect(OPTIONAL.length).toBe(Object.keys(COMMON).length + Object.keys(GATEWAY).length - 2);
    for (const model of FAMILIES) {
      const without = await ask(gateway, { model });
      const all = await ask(gateway, { model, ...Object.fromEntries(OPTIONAL.map((name) => [name, null])) });
      expect([all.outcome, all.request]).toEqual(["200", without.request!]);
      for (const name of OPTIONAL) {
        const withNull = await ask(gateway, { model, [name]: null });
        expect([name, withNull.outcome, withNull.request]).toEqual([name, "200", without.request!]);
      }
    }
  });

  test('[d5.2] null means "not set" inside of optional objects too', async () => {
    const nulls = { name: null, tool_calls: null, function_call: null, tool_call_id: null };
    expect(
      await outcomeOf({
        messages: [{ role: "user", content: "x", ...nulls }],
        stream: true,
        stream_options: { include_usage: null },
      }),
    ).toBe("200");
    expect(
      await outcomeOf({
        tools: [{ type: "function", function: { name: "f", description: null, parameters: null, strict: null } }],
      }),
    ).toBe("200");
    expect(
      await outcomeOf({
        response_format: {
          type: "json_schema",
          json_schema: { name: "s", schema: {}, strict: null, description: null },
        },
      }),
    ).toBe("200");
    expect(await outcomeOf({ headers: { "x-a": null } })).toBe("200");
  });

  test("[d5.2] null does not count as a value where one is required: model and messages", async () => {
    expect(await outcomeOf({ model: null })).toBe("400 invalid_request model");
    expect(await outcomeOf({ messages: null })).toBe("400 invalid_request messages");
  });
});

describe("bounds", () => {
  test("[d5.3] [s:limits.temperature-range] temperature is a number from 0 to 2", async () => {
    await provesBounds("temperature", [0, 0.7, 1, 2], [-0.01, 2.01, -1, 3, "1", true, [], {}]);
  });
  test("[d5.3] top_p is a number from 0 to 1", async () => {
    await provesBounds("top_p", [0, 0.1, 1], [-0.01, 1.01, "0.5", false]);
  });
  for (const name of ["presence_penalty", "frequency_penalty"])
    test(`[d5.3] ${name} is a number from -2 to 2`, async () => {
      await provesBounds(name, [-2, 0, 2], [-2.01, 2.01, "0"]);
    });
  test("[d5.3] [s:limits.top-logprobs-range] top_logprobs is an integer from 0 to 5", async () => {
    await provesBounds("top_logprobs", [0, 1, 5], [-1, 6, 20, 1.5, "5"], { logprobs: true });
  });
  test("[d5.3] top_logprobs is accepted only with logprobs true", async () => {
    for (const beside of [{}, { logprobs: false }, { logprobs: null }])
      expect(await outcomeOf({ ...beside, top_logprobs: 2 })).toBe("400 invalid_request top_logprobs");
    expect(await outcomeOf({ logprobs: true, top_logprobs: null })).toBe("200");
  });
  test("[d5.3] n is an integer from 1 to 128", async () => {
    await provesBounds("n", [1, 2, 128], [0, -1, 129, 1.5, "2"]);
  });
  test("[d5.3] num_retries is an integer from 0 to 10", async () => {
    await provesBounds("num_retries", [0, 1, 10], [-1, 11, 0.5, "1"]);
  });
  test("[d5.3] timeout is a number of seconds above 0", async () => {
    await provesBounds("timeout", [0.5, 1, 600, 86_400, 1e9], [0, -1, "30", true]);
  });
  test("[d5.3] stream_options is accepted only with stream true", async () => {
    for (const beside of [{}, { stream: false }, { stream: null }])
      expect(await outcomeOf({ ...beside, stream_options: { include_usage: true } })).toBe(
        "400 invalid_request stream_options",
      );
    expect(await outcomeOf({ stream: false, stream_options: null })).toBe("200");
    expect(await outcomeOf({ stream: true, stream_options: {} })).toBe("200");
  });

  test("[d5.3] nothing is clamped: an accepted value reaches the provider unchanged, also at the bounds", async () => {
    const { wire } = await ask(
      gateway,
      '{"model":"openai:gpt-4o","messages":[{"role":"user","content":"x"}],"temperature":2,"top_p":0,"n":128,"presence_penalty":-2,"max_tokens":9007199254740991,"seed":123456789012345678901234567890}',
    );
    expect(wire).toMatchObject({
      temperature: 2,
      top_p: 0,
      n: 128,
      presence_penalty: -2,
      max_tokens: Number.MAX_SAFE_INTEGER,
    });
    expect(gateway.sent.at(-1)!.body).toContain('"seed":123456789012345678901234567890');
  });

  test("[d5.3] a number may be written with all digits of its double, as PHP and C do, and is judged by its value", async () => {
    const written = (value: string, model: string): string =>
      `{"model":"${model}","messages":[{"role":"user","content":"x"}],"temperature":${value}}`;
    for (const model of FAMILIES) {
      expect([model, (await ask(gateway, written("0.69999999999999996", model))).outcome]).toEqual([model, "200"]);
      expect(gateway.sent.at(-1)!.body).toMatch(/"temperature":0\.(7\b|69999999999999996)/);
      expect((await ask(gateway, written("2.00000000000000044409", model))).outcome).toBe(
        "400 invalid_request temperature",
      );
      expect((await ask(gateway, written("1e400", model))).outcome).toBe("400 invalid_request temperature");
    }
    expect((await ask(gateway, written("1.50000000000000022204", "cerebras:m"))).outcome).toBe(
      "400 unsupported_value temperature",
    );
  });
});

describe("stop", () => {
  const FIVE = ["a", "b", "c", "d", "e"] as const;
  const onWire = {
    [MODELS.openai]: "stop",
    [MODELS.anthropic]: "stop_sequences",
    [MODELS.gemini]: "generationConfig",
  } as const;
  const stopOf = (model: keyof typeof onWire, wire: Readonly<Record<string, any>>): unknown =>
    model === MODELS.gemini ? wire["generationConfig"].stopSequences : wire[onWire[model]];
  const off = (scope: "global" | "tenant" | "project", value: boolean, wider: boolean | null = null) => {
    const set = (disabled: boolean | null) => ({ dropParams: null, disableStopSequenceLimit: disabled });
    const scopes = {
      tenantSettings: new Map([["default", set(scope === "tenant" ? value : null)]]),
      projectSettings: new Map([["default", set(scope === "project" ? value : null)]]),
    };
    return answeringGateway({ snapshot: { settings: set(scope === "global" ? value : wider), ...scopes } });
  };

  test("[d5.3] [s:behaviors.2] [s:limits.stop-sequences] more than 4 are cut to the first 4, which x-gateway-warnings reports", async () => {
    for (const model of FAMILIES) {
      const five = await ask(gateway, { model, stop: FIVE });
      expect([five.status, stopOf(model, five.wire!), five.headers.get("x-gateway-warnings")]).toEqual([
        200,
        ["a", "b", "c", "d"],
        "stop_truncated",
      ]);
      const four = await ask(gateway, { model, stop: FIVE.slice(0, 4) });
      expect([four.status, stopOf(model, four.wire!), four.headers.get("x-gateway-warnings")]).toEqual([
        200,
        ["a", "b", "c", "d"],
        null,
      ]);
    }
    expect(gateway.records.at(-2)!.warnings).toEqual(["stop_truncated"]);
  });

  test("[s:behaviors.2] disable_stop_sequence_limit turns the truncation off, globally, for a tenant or for a project", async () => {
    for (const scope of ["global", "tenant", "project"] as const) {
      const { wire, headers } = await ask(off(scope, true), { stop: FIVE });
      expect([scope, wire!["stop"], headers.get("x-gateway-warnings")]).toEqual([scope, [...FIVE], null]);
    }
  });

  test("[s:behaviors.2] a project's false overrides a global true", async () => {
    const { wire, headers } = await ask(off("project", false, true), { stop: FIVE });
    expect([wire!["stop"], headers.get("x-gateway-warnings")]).toEqual([["a", "b", "c", "d"], "stop_truncated"]);
  });

  test("[d5.3] it is a string or an array of strings", async () => {
    await provesBounds("stop", ["END", "", [], ["a"]], [5, true, {}, ["a", 5], [null]]);
  });
});

describe("the timeout", () => {
  test("[s:limits.default-request-timeout] is 600 seconds for a call without one, and the field is in seconds", async () => {
    const waits = {
      send: (_: unknown, { signal }: UpstreamCall) =>
        new Promise<never>((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            const reason = signal.reason as Error;
            reject(reason);
          }),
        ),
    };
    expect(serverSection.parse({}).limits.defaultTimeoutMs).toBe(600_000);
    const own = await ask(answeringGateway({ upstream: waits }), { timeout: 0.05 });
    expect([own.outcome, own.error!.message]).toEqual([
      "504 upstream_timeout null",
      "The call did not finish within its timeout of 0.05 s.",
    ]);
    const standard = await ask(answeringGateway({ upstream: waits, limits: { defaultTimeoutMs: 50 } }), {});
    expect(standard.outcome).toBe("504 upstream_timeout null");
  });
});
