// Chapter 6 of the promises: the class of each field, what is refused, what drop_params drops and whose setting
// decides. Each parameter at each provider is in parameters-each.test.ts; pass-through and the deprecated functions
// have files of their own.
import { describe, expect, test } from "bun:test";
import { BLOCK_TYPES } from "../../../src/core/chat.ts";
import { COMMON, COMMON_PARAMETERS, type CommonParameter, FIELDS, GATEWAY } from "../../../src/core/params.ts";
import { inOneTurn } from "../../../src/core/concurrency/steps.ts";
import { listModels } from "../../../src/http/models.ts";
import { callLine } from "../../../src/observe/log.ts";
import { capabilityOf } from "../../../src/core/capability.ts";
import { providers } from "../../../src/providers/registry.ts";
import { CONVERSING } from "../../harness/conversing.ts";
import type { Stub } from "../../harness/in-process.ts";
import { answeringGateway, ask, FAMILIES, HELLO, MODELS, TOOL } from "../chat-calls.ts";
import { SAMPLES } from "./parameter-samples.ts";

const gateway = answeringGateway();
const lastLogLine = (): Readonly<Record<string, unknown>> =>
  JSON.parse(callLine(gateway.records.at(-1)!)) as Record<string, unknown>;

describe("classes", () => {
  test("[d6.1] every field of the specification is in exactly one class", () => {
    const acted = [
      "tenant_id",
      "project_id",
      "route",
      "model",
      "messages",
      "timeout",
      "metadata",
      "headers",
      "extra_headers",
      "base_url",
      "api_base",
      "api_version",
      "api_key",
      "model_list",
      "functions",
      "function_call",
      "num_retries",
      "context_window_fallback_dict",
      "fallbacks",
      "input_cost_per_token",
      "output_cost_per_token",
      "drop_params",
    ];
    const common = [
      "temperature",
      "top_p",
      "n",
      "stream",
      "stream_options",
      "stop",
      "max_completion_tokens",
      "max_tokens",
      "presence_penalty",
      "frequency_penalty",
      "logit_bias",
      "user",
      "response_format",
      "seed",
      "tools",
      "tool_choice",
      "parallel_tool_calls",
      "logprobs",
      "top_logprobs",
      "safety_identifier",
      "deployment_id",
      "initial_prompt_value",
      "roles",
      "final_prompt_value",
      "bos_token",
      "eos_token",
      "hf_model_name",
      "reasoning_effort",
      "verbosity",
      "modalities",
      "audio",
      "prediction",
      "service_tier",
      "store",
      "prompt_cache_key",
      "web_search_options",
    ];
    for (const name of acted) expect([name, FIELDS.get(name)?.class]).toEqual([name, "gateway"]);
    for (const name of common) expect([name, FIELDS.get(name)?.class]).toEqual([name, "common"]);
    expect(Object.keys(COMMON).filter((name) => Object.hasOwn(GATEWAY, name))).toEqual([]);
  });

  test("[d6.1] fields that the gateway acts on are sent to no provider: tenant, project, route, timeout, metadata and the rest", async () => {
    const acted = {
      tenant_id: "default",
      project_id: "default",
      route: "direct",
      timeout: 30,
      num_retries: 0,
      fallbacks: [],
      context_window_fallback_dict: {},
      model_list: [],
      drop_params: true,
      metadata: { order: "canary-metadata" },
      api_key: "sk-own-key",
      headers: { "x-a": "1" },
      extra_headers: { "x-b": "2" },
      extra_body: {},
      input_cost_per_token: null,
    };
    for (const { id, credentials } of CONVERSING) {
      const without = await ask(gateway, { model: `${id}:m` });
      // a key that is exchanged would have to be one
      const { outcome, request, wire } = await ask(gateway, {
        model: `${id}:m`,
        ...acted,
        ...(!credentials.includes("key") && { api_key: null }),
      });
      // the sandbox does not know the model m
      expect([id, outcome, request!.body]).toEqual([
        id,
        id === "sandbox" ? "404 model_not_found null" : "200",
        without.request!.body,
      ]);
      expect(
        Object.keys(wire!).filter((name) => Object.hasOwn(GATEWAY, name) && name !== "model" && name !== "messages"),
      ).toEqual([]);
    }
    expect(gateway.sent.at(-1)!.body).not.toContain("canary-metadata");
  });

  test("[d6.1] one table produces the matrix and the listing: each provider has an entry for each parameter, and supported_parameters agrees", () => {
    const snapshot = gateway.context.snapshot();
    const models = new Map(
      [...snapshot.providers].map(([id, settings]) => [
        id,
        {
          ...settings,
          models: [{ id: "m", name: null, contextLength: null, maxCompletionTokens: null, pricing: null }],
        },
      ]),
    );
    const listed = inOneTurn(
      listModels(
        {
          snapshot: { ...snapshot, providers: models },
          scope: { tenantId: null, projectId: null },
          restrictions: null,
          nowMs: 0,
        },
        [],
        { providers, builtIn: new Map() },
      ),
    );
    for (const { id, capabilities } of CONVERSING) {
      expect([id, Object.keys(capabilities.cells).toSorted()]).toEqual([
        id,
        [...COMMON_PARAMETERS, ...BLOCK_TYPES].toSorted(),
      ]);
      const supported = COMMON_PARAMETERS.filter(
        (name) => capabilityOf(capabilities, name, "m").support !== "unsupported",
      );
      expect([id, listed.find((model) => model["id"] === `${id}:m`)!["supported_parameters"]]).toEqual([id, supported]);
    }
  });
});

describe("metadata", () => {
  const levels = (count: number): unknown => (count === 1 ? {} : { in: levels(count - 1) });
  /** An object whose JSON has so many bytes. */
  const ofBytes = (bytes: number): object => ({ text: "x".repeat(bytes - '{"text":""}'.length) });

  test("[d5.6] metadata is an object of at most 64 KiB of JSON in UTF-8", async () => {
    expect((await ask(gateway, { metadata: ofBytes(65_536) })).outcome).toBe("200");
    expect((await ask(gateway, { metadata: ofBytes(65_537) })).outcome).toBe("400 invalid_request metadata");
    expect((await ask(gateway, { metadata: { text: "ü".repeat(33_000) } })).outcome).toBe(
      "400 invalid_request metadata",
    );
    for (const metadata of ["x", 5, [], true])
      expect((await ask(gateway, { metadata })).outcome).toBe("400 invalid_request metadata");
  });

  test("[d5.6] metadata is at most 32 levels deep, lists counted", async () => {
    expect((await ask(gateway, { metadata: levels(32) })).outcome).toBe("200");
    expect((await ask(gateway, { metadata: levels(33) })).outcome).toBe("400 invalid_request metadata");
    expect((await ask(gateway, { metadata: { list: [levels(30)] } })).outcome).toBe("200");
    expect((await ask(gateway, { metadata: { list: [levels(31)] } })).outcome).toBe("400 invalid_request metadata");
    expect((await ask(gateway, { metadata: levels(400) })).outcome).toBe("400 invalid_request metadata");
  });

  test("[d6.5] metadata is in the record and its log line, and in nothing that is sent to a provider", async () => {
    const metadata = { order: "canary-metadata", deep: [{ canary: "canary-metadata" }] };
    for (const model of FAMILIES) {
      for (const stream of [false, true]) {
        const { outcome, request, text, headers } = await ask(gateway, { model, stream, metadata });
        expect(outcome).toBe("200");
        expect(JSON.stringify(request) + text + JSON.stringify([...headers])).not.toContain("canary");
        expect(lastLogLine()["metadata"]).toEqual(metadata);
      }
    }
    expect((await ask(gateway, { extra_body: { metadata: { order: "canary" } } })).outcome).toBe(
      "400 reserved_parameter extra_body.metadata",
    );
  });
});

describe("unsupported parameters", () => {
  test("[d6.3] the refusal names the provider, the model, every offending parameter and drop_params; param is the first", async () => {
    const { outcome, error, wire } = await ask(gateway, {
      model: MODELS.anthropic,
      temperature: 0.5,
      seed: 1,
      logit_bias: { "1": 1 },
      verbosity: "low",
    });
    expect([outcome, wire]).toEqual(["400 unsupported_parameter seed", null]);
    for (const word of ["Anthropic", MODELS.anthropic, "seed", "logit_bias", "verbosity", "drop_params"])
      expect(error!.message).toContain(word);
    expect(error!.message).not.toContain("temperature");
  });

  test("[d6.10] the key of a prompt cache is a hint: where a provider has no place for it, it is left out without drop_params, and named", async () => {
    for (const model of [MODELS.anthropic, MODELS.gemini]) {
      const { outcome, wire, headers } = await ask(gateway, { model, prompt_cache_key: "key-1" });
      expect([model, outcome, headers.get("x-gateway-dropped-params")]).toEqual([model, "200", "prompt_cache_key"]);
      expect(JSON.stringify(wire)).not.toContain("key-1");
    }
    const { wire } = await ask(gateway, { model: MODELS.openai, prompt_cache_key: "key-1" });
    expect(wire).toMatchObject({ prompt_cache_key: "key-1" });
  });

  test("[d6.3] an unsupported value is refused with drop_params too", async () => {
    for (const drop_params of [false, true]) {
      expect(
        (
          await ask(gateway, {
            model: "deepseek:deepseek-chat",
            drop_params,
            response_format: { type: "json_schema", json_schema: { name: "s", schema: {} } },
          })
        ).outcome,
      ).toBe("400 unsupported_value response_format");
      expect((await ask(gateway, { model: "cerebras:m", drop_params, temperature: 1.75 })).outcome).toBe(
        "400 unsupported_value temperature",
      );
    }
  });

  test("[d6.3] a number with more digits than a double has is compared with the range too", async () => {
    const native = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
    for (const seed of ["10001", "12345678901234567890", "-12345678901234567890"]) {
      const { outcome, wire } = await ask(gateway, { model: "hunyuan:m", seed: native.rawJSON(seed) });
      expect([seed, outcome, wire]).toEqual([seed, "400 unsupported_value seed", null]);
    }
  });

  /** Models of which a parameter has one value, with that value and another. */
  const FIXED = [
    ["openai:gpt-5-mini", "temperature", 1, 0.7],
    ["openai:o3", "temperature", 1, 0],
    ["azure:gpt-5", "temperature", 1, 0.2],
    ["openai:o1-mini", "n", 1, 2],
    ["groq:m", "n", 1, 2],
    ["anthropic:claude-opus-4-7", "temperature", 1, 0.5],
    ["anthropic:claude-opus-4-7", "top_p", 0.995, 0.9],
    ["bedrock:anthropic.claude-opus-4-7", "temperature", 1, 0.5],
    ["vertex:claude-opus-4-7@default", "top_p", 0.99, 0.5],
    ["moonshot:kimi-k2.6", "temperature", 1, 0.6],
  ] as const;

  test("[d6.3] a parameter of which a model takes its default alone is unsupported there: the default is accepted in any spelling, another value is refused, or dropped and reported", async () => {
    for (const [model, name, own, other] of FIXED) {
      const without = await ask(gateway, { model });
      const given = await ask(gateway, { model, [name]: own });
      expect([model, name, given.outcome, given.headers.has("x-gateway-dropped-params")]).toEqual([
        model,
        name,
        "200",
        false,
      ]);
      const refused = await ask(gateway, { model, [name]: other });
      expect([model, refused.outcome, refused.wire]).toEqual([model, `400 unsupported_parameter ${name}`, null]);
      expect(refused.error!.message).toContain("drop_params");
      const dropped = await ask(gateway, { model, [name]: other, drop_params: true });
      expect([model, dropped.outcome, dropped.headers.get("x-gateway-dropped-params"), dropped.request!.body]).toEqual([
        model,
        "200",
        name,
        without.request!.body,
      ]);
      expect(lastLogLine()["params"]).toMatchObject({ [name]: "dropped" });
    }
  });

  test("[d6.3] a default that depends on the rest of the request is neutral where it is the default", async () => {
    const outcome = async (fields: object): Promise<string> =>
      (await ask(gateway, { model: "moonshot:kimi-k2.6", ...fields })).outcome;
    expect(await outcome({ temperature: 0.6, reasoning_effort: "none" })).toBe("200");
    expect(await outcome({ temperature: 0.6, thinking: { type: "disabled" } })).toBe("200");
    expect(await outcome({ temperature: 1, thinking: { type: "disabled" } })).toBe(
      "400 unsupported_parameter temperature",
    );
  });

  test("[d6.3] operators can serve clients that always send a temperature: drop_params in any scope", async () => {
    const settings = { dropParams: true, disableStopSequenceLimit: null };
    const stub = answeringGateway({ snapshot: { settings: { dropParams: true, disableStopSequenceLimit: null } } });
    expect(
      (await ask(stub, { model: "openai:gpt-5-mini", temperature: 0.7, top_p: 0.9, stop: ["END"] })).headers.get(
        "x-gateway-dropped-params",
      ),
    ).toBe("temperature,top_p,stop");
    const ofProject = answeringGateway({ snapshot: { projectSettings: new Map([["default", settings]]) } });
    expect((await ask(ofProject, { model: "openai:gpt-5-mini", temperature: 0.7 })).outcome).toBe("200");
  });

  test("[d6.3] user, safety_identifier, stream and stream_options are accepted for every provider and model", async () => {
    for (const { id } of CONVERSING) {
      const { outcome } = await ask(gateway, {
        model: id === "sandbox" ? "sandbox:echo" : `${id}:m`,
        user: "u",
        safety_identifier: "s",
        stream: true,
        stream_options: { include_usage: true },
      });
      expect([id, outcome]).toEqual([id, "200"]);
    }
  });
});

describe("drop_params", () => {
  test("[d6.4] [s:behaviors.4] drops what the provider does not support and only that, and names it in x-gateway-dropped-params and in the log", async () => {
    for (const stream of [false, true]) {
      const { outcome, wire, headers } = await ask(gateway, {
        model: MODELS.anthropic,
        stream,
        temperature: 0.5,
        seed: 1,
        top_k: 40,
        logit_bias: { "1": 1 },
        n: 1,
        drop_params: true,
      });
      expect([outcome, headers.get("x-gateway-dropped-params")]).toEqual(["200", "seed,logit_bias"]);
      expect(wire).toMatchObject({ temperature: 0.5, top_k: 40 });
      for (const name of ["seed", "logit_bias", "n", "drop_params"]) expect(wire).not.toHaveProperty(name);
      expect(lastLogLine()["params"]).toMatchObject({
        seed: "dropped",
        logit_bias: "dropped",
        temperature: "native",
        top_k: "passed",
      });
    }
    expect((await ask(gateway, { drop_params: true, temperature: 0.5 })).headers.has("x-gateway-dropped-params")).toBe(
      false,
    );
  });

  const SCOPES = ["project", "tenant", "global"] as const;
  type Said = Readonly<Partial<Record<(typeof SCOPES)[number], boolean>>>;
  const gatewaySaying = (said: Said): Stub => {
    const set = (dropParams: boolean | undefined) => ({
      dropParams: dropParams ?? null,
      disableStopSequenceLimit: null,
    });
    return answeringGateway({
      snapshot: {
        settings: set(said.global),
        tenantSettings: new Map([["default", set(said.tenant)]]),
        projectSettings: new Map([["default", set(said.project)]]),
      },
    });
  };

  const THREE = [undefined, false, true] as const;
  test("[d6.4] [s:behaviors.4] the request decides over the project, the project over the tenant, the tenant over the global setting: all 81 combinations", async () => {
    const wrong: unknown[] = [];
    for (const project of THREE)
      for (const tenant of THREE)
        for (const global of THREE) {
          const said: Said = {
            ...(project !== undefined && { project }),
            ...(tenant !== undefined && { tenant }),
            ...(global !== undefined && { global }),
          };
          const stub = gatewaySaying(said);
          for (const request of THREE) {
            const drops = request ?? project ?? tenant ?? global ?? false;
            const { outcome } = await ask(stub, {
              model: MODELS.anthropic,
              seed: 1,
              ...(request !== undefined && { drop_params: request }),
            });
            if (outcome !== (drops ? "200" : "400 unsupported_parameter seed"))
              wrong.push([{ request, ...said }, outcome]);
          }
        }
    expect(wrong).toEqual([]);
  });

  test("[d6.4] a request's false overrides a global true, and its null does not", async () => {
    const stub = gatewaySaying({ global: true });
    expect((await ask(stub, { model: MODELS.anthropic, seed: 1, drop_params: false })).outcome).toBe(
      "400 unsupported_parameter seed",
    );
    expect((await ask(stub, { model: MODELS.anthropic, seed: 1, drop_params: null })).outcome).toBe("200");
    for (const drop_params of ["true", 1, {}])
      expect((await ask(stub, { drop_params })).outcome).toBe("400 invalid_request drop_params");
  });

  test("[s:behaviors.4] settings of another project or tenant do not count", async () => {
    const elsewhere = { dropParams: true, disableStopSequenceLimit: null };
    const stub = answeringGateway({
      snapshot: { tenantSettings: new Map([["other", elsewhere]]), projectSettings: new Map([["other", elsewhere]]) },
    });
    expect((await ask(stub, { model: MODELS.anthropic, seed: 1 })).outcome).toBe("400 unsupported_parameter seed");
  });
});

describe("combinations of parameters", () => {
  /** All that a model takes at once, which says that no parameter suppresses another. */
  test("[d6.2] parameters also reach the wire when many are sent at once", async () => {
    const alone = new Set<CommonParameter>(["stream", "stream_options", "max_completion_tokens"]);
    for (const model of ["openai:gpt-4o", "custom:m", "vllm:m"]) {
      const provider = providers.get(model.split(":")[0]!)!;
      const names = COMMON_PARAMETERS.filter(
        (name) => !alone.has(name) && capabilityOf(provider.capabilities, name, "m").support === "native",
      );
      const fields = Object.fromEntries(names.map((name) => [name, SAMPLES[name].values[0]]));
      const { outcome, wire } = await ask(gateway, { model, ...fields });
      expect([model, outcome]).toEqual([model, "200"]);
      // nothing is stored at the vendor, unless the provider's entry says so (promise 12.15)
      const store = "store" in fields ? { store: false } : {};
      expect(wire).toEqual({ model: model.split(":")[1], messages: [...HELLO], ...fields, ...store });
      expect(names.length).toBeGreaterThanOrEqual(20);
    }
    const { wire } = await ask(gateway, {
      model: MODELS.gemini,
      temperature: 0.5,
      top_p: 0.9,
      n: 2,
      stop: ["END"],
      max_tokens: 77,
      seed: 7,
      tools: [TOOL],
      tool_choice: "required",
      reasoning_effort: "low",
    });
    expect(wire).toMatchObject({
      generationConfig: {
        temperature: 0.5,
        topP: 0.9,
        candidateCount: 2,
        stopSequences: ["END"],
        maxOutputTokens: 77,
        seed: 7,
        thinkingConfig: { thinkingBudget: 1024 },
      },
      toolConfig: { functionCallingConfig: { mode: "ANY" } },
    });
  });
});
