// Promise 6.5 and the specification's behavior 5: parameters outside the common set are sent to the provider unchanged,
// `extra_body` is their explicit form, and neither can overwrite what the gateway encodes.
import { describe, expect, test } from "bun:test";
import { CONVERSING } from "../../harness/conversing.ts";
import { answeringGateway, ask, FAMILIES, HELLO, MODELS, TOOL } from "../chat-calls.ts";
import { PLACE_OF_FOREIGN_FIELDS } from "./parameter-samples.ts";

const gateway = answeringGateway();
const plain = answeringGateway({ permissions: [] });

/** Names that are in no class and mean nothing to any provider of the registry. */
const STRANGE = {
  strange: { deep: [1, "two", null, { three: 3.5 }], empty: {} },
  "another one": false,
  "": 0,
  größe: "ü",
  nothing: null,
} as const;

describe("passing through", () => {
  test("[d6.5] [s:behaviors.5] a parameter outside the common set goes in the body of every provider's request, unchanged", async () => {
    for (const { id } of CONVERSING) {
      const model = id === "sandbox" ? "sandbox:echo" : `${id}:m`;
      for (const fields of [STRANGE, { extra_body: STRANGE }]) {
        const { outcome, wire } = await ask(plain, { model, ...fields });
        expect([id, outcome]).toEqual([id, "200"]);
        const place = PLACE_OF_FOREIGN_FIELDS[id];
        expect(place === undefined ? wire : wire![place]).toMatchObject(STRANGE);
      }
      expect(plain.records.at(-1)!.dispositions).toMatchObject({ strange: "passed" });
    }
  });

  test("[d6.5] numbers, key order and spelling reach a provider of the same wire form byte for byte", async () => {
    const { wire, request } = await ask(
      gateway,
      '{ "top_k" : 1.50e1, "model":"custom:gpt-4o","messages":[ {"role":"user","content":"\\u00fc","x":9007199254740993} ], "big":123456789012345678901234567890 ,"temperature":1.0}',
    );
    expect(wire!["model"]).toBe("gpt-4o");
    expect(request!.body).toBe(
      '{"top_k" : 1.50e1,"model":"gpt-4o","messages":[ {"role":"user","content":"\\u00fc","x":9007199254740993} ],"big":123456789012345678901234567890,"temperature":1.0}',
    );
  });

  test("[d6.5] no digit of a number is lost where the wire form is translated, either", async () => {
    for (const model of FAMILIES) {
      const { request } = await ask(
        gateway,
        `{"model":"${model}","messages":[{"role":"user","content":"x"}],"strange":{"big":123456789012345678901234567890,"small":0.1234567890123456789}}`,
      );
      expect(request!.body).toContain('"strange":{"big":123456789012345678901234567890,"small":0.1234567890123456789}');
    }
  });

  test("[d6.5] a name that every JavaScript object has is treated like any other", async () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];
    for (const model of [MODELS.openai, MODELS.gemini, "custom:m"]) {
      for (const name of names) {
        const member = `${JSON.stringify(name)}:{"polluted":true}`;
        for (const fields of [
          member,
          `"extra_body":{${member}}`,
          `"extra_body":{"strange":{${member}}},"strange":{"a":1}`,
        ]) {
          const { outcome, request } = await ask(
            gateway,
            `{"model":"${model}","messages":[{"role":"user","content":"x"}],${fields}}`,
          );
          expect([model, fields, outcome]).toEqual([model, fields, "200"]);
          expect(request!.body).toContain(member);
        }
      }
    }
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("merging", () => {
  test("[d6.5] extra_body joins the fields beside it; existing objects are merged key by key, and extra_body wins", async () => {
    for (const model of FAMILIES) {
      const { wire } = await ask(gateway, {
        model,
        strange: { a: 1, deep: { b: 2, c: 3 } },
        list: [1],
        extra_body: { strange: { deep: { c: 4, d: 5 } }, list: [2], more: true },
      });
      expect(wire).toMatchObject({ strange: { a: 1, deep: { b: 2, c: 4, d: 5 } }, list: [2], more: true });
      expect(wire).not.toHaveProperty("extra_body");
    }
  });

  test("[d6.5] what is passed through is merged key by key into objects that the gateway encodes", async () => {
    const gemini = await ask(gateway, {
      model: MODELS.gemini,
      temperature: 0.5,
      generationConfig: { topK: 40, imageConfig: { aspectRatio: "1:1" } },
      toolConfig: { retrievalConfig: { languageCode: "de" } },
      tools: [TOOL],
      tool_choice: "required",
    });
    expect(gemini.wire).toMatchObject({
      generationConfig: { temperature: 0.5, topK: 40, imageConfig: { aspectRatio: "1:1" } },
      toolConfig: { retrievalConfig: { languageCode: "de" }, functionCallingConfig: { mode: "ANY" } },
    });
    const anthropic = await ask(gateway, {
      model: "anthropic:claude-sonnet-4-6",
      reasoning_effort: "low",
      output_config: { task_budget: 5 },
    });
    expect(anthropic.wire).toMatchObject({ output_config: { effort: "low", task_budget: 5 } });
  });

  test("[d6.5] what the gateway encoded is never overwritten, not even in a merged object", async () => {
    expect(
      (await ask(gateway, { model: MODELS.gemini, temperature: 0.5, generationConfig: { temperature: 0.9 } })).error!
        .code,
    ).toBe("reserved_parameter");
    expect((await ask(gateway, { model: MODELS.gemini, generationConfig: { maxOutputTokens: 5 } })).outcome).toBe(
      "400 reserved_parameter generationConfig.maxOutputTokens",
    );
    expect((await ask(gateway, { model: MODELS.gemini, generation_config: { candidate_count: 5 } })).error!.code).toBe(
      "reserved_parameter",
    );
    expect(
      (
        await ask(gateway, {
          model: "anthropic:claude-sonnet-4-6",
          reasoning_effort: "low",
          output_config: { effort: "max" },
        })
      ).outcome,
    ).toBe("400 reserved_parameter output_config.effort");
  });
});

describe("extra_body", () => {
  test("[d6.5] sets no field that the gateway acts on, and no parameter that the request sets too", async () => {
    for (const name of [
      "model",
      "messages",
      "metadata",
      "tenant_id",
      "project_id",
      "route",
      "timeout",
      "base_url",
      "api_key",
      "headers",
      "drop_params",
      "extra_body",
      "functions",
    ])
      expect([name, (await ask(gateway, { extra_body: { [name]: "x" } })).outcome]).toEqual([
        name,
        `400 reserved_parameter extra_body.${name}`,
      ]);
    expect((await ask(gateway, { temperature: 0.5, extra_body: { temperature: 0.9 } })).outcome).toBe(
      "400 reserved_parameter extra_body.temperature",
    );
    // whether the vendor stores anything is for the gateway to decide
    expect((await ask(gateway, { extra_body: { store: true } })).outcome).toBe(
      "400 reserved_parameter extra_body.store",
    );
    for (const extra_body of ["x", 5, [], true])
      expect((await ask(gateway, { extra_body })).outcome).toBe("400 invalid_request extra_body");
  });
});

describe("reserved names", () => {
  /** Per wire family: model, conversation, system, output bound, number of answers, tools, tool servers, streaming, as far as the wire has them. */
  const OPENAI = [
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "n",
    "tools",
    "tool_choice",
    "functions",
    "function_call",
    "stream",
    "stream_options",
  ];
  const RESERVED: Readonly<Record<string, readonly string[]>> = {
    anthropic: [
      "model",
      "messages",
      "system",
      "max_tokens",
      "stream",
      "tools",
      "tool_choice",
      "mcp_servers",
      "metadata",
    ],
    gemini: ["contents", "systemInstruction", "system_instruction", "tools", "model"],
    bedrock: ["modelId", "messages", "system", "toolConfig", "stream"],
    cohere: ["model", "messages", "max_tokens", "stream", "tools", "tool_choice"],
    ollama: ["model", "messages", "num_predict", "stream", "tools"],
  };

  for (const { id, reserved } of CONVERSING) {
    test(`[d6.5] ${id}: each of its wire names for model, conversation, output bound, tools and streaming is answered with 400 in a pass-through`, async () => {
      const expected = RESERVED[id] ?? OPENAI;
      expect(expected.filter((name) => !reserved.has(name))).toEqual([]);
      for (const name of reserved) {
        const { outcome, wire } = await ask(gateway, { model: `${id}:m`, extra_body: { [name]: "x" } });
        expect([name, outcome.replace(/ (extra_body\.)?\w+$/, ""), wire]).toEqual([
          name,
          "400 reserved_parameter",
          null,
        ]);
      }
    });
  }

  test("[d6.5] a wire name of another family is answered with 400 too when it stands beside the parameters of the request", async () => {
    expect((await ask(gateway, { model: MODELS.anthropic, system: "You obey." })).outcome).toBe(
      "400 reserved_parameter system",
    );
    expect((await ask(gateway, { model: MODELS.anthropic, mcp_servers: [] })).outcome).toBe(
      "400 reserved_parameter mcp_servers",
    );
    expect((await ask(gateway, { model: MODELS.gemini, contents: [] })).outcome).toBe(
      "400 reserved_parameter contents",
    );
    expect((await ask(gateway, { model: "llamacpp:m", n_predict: 5 })).outcome).toBe(
      "400 reserved_parameter n_predict",
    );
  });
});

describe("privileged names", () => {
  test("[d6.5] names that widen the choice of model or provider need byo_endpoint, as a field and in extra_body", async () => {
    const all = CONVERSING.flatMap(({ id, privileged }) => [...privileged].map((name) => [id, name] as const));
    expect(all).toContainEqual(["openrouter", "models"]);
    expect(all).toContainEqual(["openrouter", "provider"]);
    for (const [id, name] of all) {
      // `route` is a field of the gateway before it is a provider's
      const fields = name === "route" ? [] : [{ [name]: ["x"] }, { extra_body: { [name]: ["x"] } }];
      for (const field of fields) {
        expect([id, name, (await ask(plain, { model: `${id}:m`, ...field })).outcome]).toEqual([
          id,
          name,
          `403 permission_required ${name}`,
        ]);
        const allowed = await ask(gateway, { model: `${id}:m`, ...field });
        expect([id, name, allowed.outcome, allowed.wire![name]]).toEqual([id, name, "200", ["x"]]);
      }
    }
  });

  test("[d6.5] credentials and scopes of clouds need byo_endpoint, also inside extra_body", async () => {
    for (const name of ["aws_region_name", "vertex_project", "vertex_location"])
      for (const fields of [{ [name]: "x" }, { extra_body: { [name]: "x" } }]) {
        expect([name, (await ask(plain, fields)).outcome]).toEqual([
          name,
          "extra_body" in fields ? `400 reserved_parameter extra_body.${name}` : `403 permission_required ${name}`,
        ]);
        // inside of extra_body it would say again what is a field of the request
        expect([name, (await ask(gateway, fields)).outcome]).toEqual([
          name,
          "extra_body" in fields ? `400 reserved_parameter extra_body.${name}` : "200",
        ]);
      }
    for (const fields of [{ aws_access_key_id: "x", aws_secret_access_key: "y" }, { vertex_access_token: "x" }])
      expect((await ask(plain, fields)).outcome).toBe(`403 permission_required ${Object.keys(fields)[0]}`);
  });

  test("[d6.5] the same name passes through to a provider to which it means nothing", async () => {
    expect((await ask(plain, { model: "vllm:m", messages: HELLO, provider: { order: ["x"] } })).wire).toMatchObject({
      provider: { order: ["x"] },
    });
  });
});
