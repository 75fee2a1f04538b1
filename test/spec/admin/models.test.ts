// The listings beside the one operation: the models, and the disposition of each parameter at one of them (promises
// 9.1, 6.1, 6.2). The demands of clients on the list's form (M1 to M5) are in operations.test.ts.
import { describe, expect, test } from "bun:test";
import { providersPage } from "../../../docs/generators/providers.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { ProviderSettings, Snapshot } from "../../../src/core/snapshot.ts";
import { createApp } from "../../../src/http/app.ts";
import { refuseUnservedWith } from "../../../src/http/unserved-operations.ts";
import { BUILT_IN_MODELS, providers } from "../../../src/providers/registry.ts";
import { routesSeen } from "../../../src/routing/compile-routes.ts";
import { codeWords } from "../../docs/pages.ts";
import { runCli } from "../../harness/processes/gateway-process.ts";
import { projectToken, stubGateway } from "../../harness/in-process.ts";
import { providerSettings } from "../../harness/targets.ts";
import { modelNames } from "../requests/parameter-samples.ts";
import { timesAsMuch } from "../../harness/time/cpu-time.ts";
import { idleStanding } from "../../harness/standing.ts";

const { token, text } = projectToken();

function serve(settings?: readonly ProviderSettings[], snapshot: Partial<Snapshot> = {}) {
  const stub = stubGateway({
    ...(settings && { providers: settings }),
    snapshot: { tokens: new Map([[token.id, token]]), ...snapshot },
  });
  const app = createApp({
    clock: systemClock,
    version: "1",
    snapshot: () => stub.context.snapshot(),
    refuseUnserved: refuseUnservedWith(stub.context),
    models: { providers, builtIn: BUILT_IN_MODELS },
    logins: stub.context.logins,
    metrics: () => Promise.reject(new Error("none")),
    notReady: () => null,
    standing: () => idleStanding(),
  });
  return async (
    path: string,
    headers: Record<string, string> = { authorization: `Bearer ${text}` },
  ): Promise<{ readonly status: number; readonly body: any; readonly size: number }> => {
    const response = await app.fetch(new Request(`http://gateway.test${path}`, { headers }), { peer: null });
    const answer = await response.text();
    return { status: response.status, body: JSON.parse(answer), size: answer.length };
  };
}

const all = serve();
const model = async (name: string, get = all): Promise<any> => (await get(`/api/v1/models/${name}`)).body;

test("[d9.1] [d2.4] a route is not listed where the target that is enabled is another one than the token permits", async () => {
  const restricted = { ...token, models: ["openai:gpt-5", "openrouter:*"] };
  const get = serve(undefined, {
    tokens: new Map([[token.id, restricted]]),
    routes: routesSeen([
      {
        routes: {
          apart: { targets: ["openai:gpt-5", "openai:gpt-4o"] },
          same: { targets: ["openai:gpt-5", "openrouter:openai/o3"] },
        },
        defaults: {},
      },
    ]),
    tenantSettings: new Map([
      [
        token.tenantId,
        { dropParams: null, disableStopSequenceLimit: null, models: ["openai:gpt-4o", "openrouter:openai/o3"] },
      ],
    ]),
  });
  const ids = (await get("/api/v1/models")).body.data.map(({ id }: { readonly id: string }) => id);
  expect(ids.filter((id: string) => !id.includes(":"))).toEqual(["same"]);
});

test("[d9.1] a route is listed where only a fallback of it is enabled, however the name of that is written", async () => {
  const targets = ["openai:gpt-5"];
  const get = serve(undefined, {
    routes: routesSeen([
      {
        routes: {
          colon: { targets, fallbacks: ["openrouter:openai/gpt-5"] },
          slash: { targets, fallbacks: ["openrouter/openai/gpt-5"] },
          other: { targets, fallbacks: ["openrouter:openai/o3"] },
        },
        defaults: {},
      },
    ]),
    tenantSettings: new Map([
      [token.tenantId, { dropParams: null, disableStopSequenceLimit: null, models: ["openrouter:openai/gpt-5"] }],
    ]),
  });
  const ids = (await get("/api/v1/models")).body.data.map(({ id }: { readonly id: string }) => id);
  expect(ids.filter((id: string) => !id.includes(":"))).toEqual(["colon", "slash"]);
});

describe("[d9.1] the models of the sandbox", () => {
  const sandboxIds = async (get: typeof all): Promise<readonly string[]> =>
    (await get("/api/v1/models")).body.data
      .map((one: { readonly id: string }) => one.id)
      .filter((name: string) => name.startsWith("sandbox:"));
  const settings = providerSettings({ id: "sandbox" });
  const listed = (name: string) => ({
    id: name,
    name: null,
    contextLength: null,
    maxCompletionTokens: null,
    pricing: null,
  });

  test("models that answer are listed, and models that fail are listed only where the configuration names them", async () => {
    expect(await sandboxIds(serve([settings]))).toEqual(
      [
        "echo",
        "assistant",
        "agent",
        "words-500",
        "tools",
        "json",
        "embed-256",
        "rerank",
        "moderation",
        "slow-2000",
      ].map((name) => `sandbox:${name}`),
    );
    expect(await sandboxIds(serve([{ ...settings, models: [listed("echo"), listed("stall")] }]))).toEqual([
      "sandbox:echo",
      "sandbox:stall",
    ]);
    expect((await serve([settings])("/api/v1/models/sandbox:stall")).status).toBe(200);
  });
});

describe("[d9.1] what the listing says of a model", () => {
  test("context, output bound, and prices per token as strings, with the version of the price list", async () => {
    const claude = await model("anthropic:claude-sonnet-4-5");
    expect(claude).toMatchObject({
      object: "model",
      owned_by: "anthropic",
      top_provider: { max_completion_tokens: 64_000 },
    });
    expect(claude.context_length).toBeGreaterThan(100_000);
    expect(Object.keys(claude.pricing)).toEqual(["prompt", "completion", "input_cache_read", "input_cache_write"]);
    for (const price of Object.values(claude.pricing)) expect(price).toMatch(/^0\.\d+$/);
    expect(claude.price_id).toMatch(/^genai-prices@/);
  });
  test("of a route, the highest price of its targets, where all are known", async () => {
    const priced = (id: string, prompt: string, completion: string) => ({
      id,
      name: null,
      contextLength: null,
      maxCompletionTokens: null,
      pricing: { prompt, completion },
    });
    const get = serve(
      [
        providerSettings({ id: "openai", models: [priced("a", "0.5", "0.25"), priced("b", "0.125", "0.75")] }),
        providerSettings({ id: "groq" }),
      ],
      {
        routes: routesSeen([
          {
            routes: {
              both: { targets: ["openai:a", "openai:b"] },
              unknown: { targets: ["openai:a", "groq:made-up/model"] },
            },
            defaults: {},
          },
        ]),
      },
    );
    const { data } = (await get("/api/v1/models")).body;
    const pricing = { prompt: "0.5", completion: "0.75" };
    expect(data.slice(0, 2).map((one: any) => [one.id, one.pricing])).toEqual([
      ["both", pricing],
      ["unknown", undefined],
    ]);
    expect((await model("both", get)).pricing).toEqual(pricing);
  });
  test("the operations that it serves, and which of them the provider is sent as they were written", async () => {
    const chat = ["chat.completions", "responses", "messages"];
    expect((await model("anthropic:claude-sonnet-4-5")).operations).toEqual([...chat, "messages.count_tokens"]);
    expect((await model("sandbox:echo")).operations).toEqual([...chat, "completions"]);
    expect((await model("sandbox:tools")).operations).toEqual(chat);
    expect((await model("openai:gpt-3.5-turbo-instruct")).operations).toEqual(["completions"]);
    expect((await model("sandbox:embed-4")).operations).toEqual(["embeddings"]);
    expect((await model("anthropic:some-embedding-model")).operations).toEqual([]);
    const named = async (name: string, get = all) => {
      const { operations } = (await get(`/api/v1/params?model=${name}`)).body;
      return Object.fromEntries(operations.map((one: any) => [one.name, one.native]));
    };
    expect(await named("anthropic:claude-sonnet-4-5")).toEqual({
      "chat.completions": null,
      responses: false,
      messages: true,
      "messages.count_tokens": true,
    });
    expect(await named("openai:text-embedding-3-small")).toEqual({ embeddings: null });
    const settings = providerSettings({ id: "anthropic", baseUrl: null });
    expect(await named("anthropic:claude-sonnet-4-5", serve([{ ...settings, native: [] }]))).toEqual({
      "chat.completions": null,
      responses: false,
      messages: false,
    });
    const own = providerSettings({ id: "mine", family: "custom", baseUrl: "http://models.example/v1" });
    expect(await named("mine:base", serve([own]))).not.toHaveProperty("completions");
    expect(await named("mine:base", serve([{ ...own, native: ["completions"] }]))).toMatchObject({ completions: null });
    const { data } = (await serve([providerSettings({ id: "openai", baseUrl: null })])("/api/v1/models")).body;
    const vectors = data.filter(({ operations }: any) => operations.includes("embeddings"));
    expect(vectors.map((one: any) => [one.id, one.operations])).toContainEqual([
      "openai:text-embedding-3-small",
      ["embeddings"],
    ]);
  });
  test("the price of long prompts", async () => {
    const { pricing, pricing_tiers: tiers } = await model("gemini:gemini-2.5-pro");
    expect(tiers).toEqual([
      {
        above_prompt_tokens: 200_000,
        prompt: expect.any(String),
        completion: expect.any(String),
        input_cache_read: expect.any(String),
      },
    ]);
    expect(Number(tiers[0].prompt)).toBeGreaterThan(Number(pricing.prompt));
  });
  test("modalities: what the provider's table accepts and what has a price", async () => {
    expect((await model("anthropic:claude-opus-4-5")).architecture).toEqual({
      input_modalities: ["text", "image", "file"],
      output_modalities: ["text"],
    });
    expect((await model("gemini:gemini-2.5-flash-preview-tts")).architecture.output_modalities).toEqual([
      "text",
      "audio",
    ]);
    expect((await model("openai:gpt-audio")).architecture.output_modalities).toContain("audio");
  });
  test("the file's figures override the catalogue's", async () => {
    const get = serve([
      providerSettings({
        id: "openai",
        models: [
          {
            id: "gpt-5",
            name: "Ours",
            contextLength: 8,
            maxCompletionTokens: 4,
            pricing: { prompt: "0.5", completion: "0.25" },
          },
        ],
      }),
    ]);
    const { body } = await get("/api/v1/models");
    expect(body.data).toEqual([
      expect.objectContaining({
        id: "openai:gpt-5",
        name: "Ours",
        context_length: 8,
        top_provider: { max_completion_tokens: 4 },
        pricing: { prompt: "0.5", completion: "0.25" },
        price_id: "configuration",
      }),
    ]);
  });
  test("a name that could not be called is answered as unknown, and is not remembered", async () => {
    for (const path of [
      (name: string) => `/api/v1/models/groq:${name}`,
      (name: string) => `/api/v1/params?model=groq:${name}`,
    ]) {
      expect((await all(path("x".repeat(256)))).status).toBe(200);
      for (const name of ["x".repeat(257), "x".repeat(10_000), "a%20b", "%C3%BC", "a%00"])
        expect([name.slice(0, 20), (await all(path(name))).status]).toEqual([name.slice(0, 20), 404]);
    }
  });
  test("an unknown model has no context and no price, and may be asked for", async () => {
    const unknown = await model("groq:made-up/model");
    expect(unknown).toMatchObject({ id: "groq:made-up/model", name: "groq:made-up/model" });
    for (const name of ["context_length", "pricing", "top_provider", "price_id"])
      expect(unknown).not.toHaveProperty(name);
  });
});

describe("[d9.1] the output bound that the file sets", () => {
  test("is sent to a provider that requires one where the call has none, and never shortens a call", async () => {
    const models = [
      { id: "claude-opus-4-5", name: null, contextLength: null, maxCompletionTokens: 1234, pricing: null },
    ];
    const gateway = stubGateway({
      providers: [providerSettings({ id: "anthropic", baseUrl: "https://api.anthropic.com", models })],
    });
    for (const [asked, sent] of [
      [{}, 1234],
      [{ max_tokens: 9999 }, 9999],
      [{ model: "anthropic:claude-opus-4-20250514" }, 32_000],
    ] as const) {
      await gateway.chat({ model: "anthropic:claude-opus-4-5", messages: [{ role: "user", content: "a" }], ...asked });
      expect(JSON.parse(gateway.sent.at(-1)!.body)).toMatchObject({ max_tokens: sent });
    }
  });
});

describe("[d9.1] the list", () => {
  test("has the catalogue's models for a provider without a list of its own, at its own address only", async () => {
    const get = serve([
      providerSettings({ id: "groq" }),
      providerSettings({ id: "second", family: "groq", baseUrl: "https://elsewhere.example/v1" }),
      providerSettings({ id: "off", family: "openai", enabled: false }),
    ]);
    const ids: readonly string[] = (await get("/api/v1/models")).body.data.map(
      (one: { readonly id: string }) => one.id,
    );
    expect(ids).toContain("groq:llama-3.3-70b-versatile");
    expect(ids.filter((name) => !name.startsWith("groq:"))).toEqual([]);
    expect(ids).toEqual(ids.toSorted());
  });
  test("[d9.7] M2: is small and quick with every provider enabled", async () => {
    const { body, size } = await all("/api/v1/models");
    const listed = JSON.stringify(body);
    // The answer costs about ten times what it costs to read it.
    const read = (): unknown => JSON.parse(listed);
    expect(await timesAsMuch(() => all("/api/v1/models"), read, 100)).toBeLessThan(100);
    expect(body.data.length).toBeGreaterThan(500);
    expect(size).toBeLessThan(4_000_000);
    expect(new Set(body.data.map((one: { readonly id: string }) => one.id)).size).toBe(body.data.length);
  });
});

describe("[d9.1, d6.2] /params", () => {
  test("needs a token and a model that exists", async () => {
    expect((await all("/api/v1/params?model=sandbox:echo", {})).status).toBe(401);
    for (const path of ["/api/v1/params", "/v1/params?model="])
      expect(await all(path)).toMatchObject({
        status: 400,
        body: { error: { code: "invalid_request", param: "model" } },
      });
    for (const name of ["nobody:m", "m", "openai:"])
      expect(await all(`/api/v1/params?model=${name}`)).toMatchObject({
        status: 404,
        body: { error: { code: "model_not_found", param: "model" } },
      });
  });
  test("answers under every base address, with a trailing slash, with the model as it is or encoded", async () => {
    for (const path of [
      "/api/v1/params?model=openai:o3",
      "/v1/params/?model=openai%3Ao3",
      "/api/params?model=openai/o3",
    ])
      expect((await all(path)).body).toMatchObject({
        object: "capabilities",
        model: "openai:o3",
        provider: { id: "openai" },
      });
  });
  test("shows the rules that a request follows: o3 takes no stop, and either name of the output bound is accepted", async () => {
    const rows = new Map<string, any>(
      (await all("/api/v1/params?model=openai:o3")).body.parameters.map((row: { readonly name: string }) => [
        row.name,
        row,
      ]),
    );
    expect(rows.get("stop")).toMatchObject({ support: "unsupported" });
    expect(rows.get("temperature")).toMatchObject({
      name: "temperature",
      support: "unsupported",
      values: null,
      range: null,
    });
    expect(rows.get("max_tokens").support).toBe("mapped");
  });
});

/** Cells of a generated page, in the page's own words: a line "By model" that matches decides before the table. */
function pageReader(page: string) {
  const sections = new Map(
    page
      .split("\n## ")
      .slice(1)
      .map((section) => [
        section.split("\n")[0]!,
        section
          .split("\n")
          .filter((line) => line.startsWith("| `"))
          .map((line) =>
            line
              .split(/(?<!\\)\|/)
              .slice(1, -1)
              .map((cell) => cell.trim().replaceAll("\\|", "|")),
          ),
      ]),
  );
  return (provider: string, name: string, feature: string): readonly string[] => {
    const rows = sections.get(provider)!;
    const matches = ([pattern]: readonly string[]): boolean => {
      const [, source, flags] = /^`+ ?\/(.*)\/([a-z]*) ?`+$/.exec(pattern!)!;
      return new RegExp(source!, flags).test(name);
    };
    const cell = (wanted: string): readonly string[] =>
      rows.find((row) => row.length === 4 && codeWords(row[1]!)[0] === wanted && matches(row))?.slice(2) ??
      rows.find((row) => row.length === 3 && codeWords(row[0]!)[0] === wanted)!.slice(1);
    const other = { max_tokens: "max_completion_tokens", max_completion_tokens: "max_tokens" }[feature];
    const own = cell(feature);
    return own[0] === "unsupported" && other !== undefined ? cell(other) : own;
  };
}

describe("[s:behaviors.6, d6.1] three views of one table", () => {
  const words = (row: any): readonly string[] => {
    const parts = [
      ...(row.note === null ? [] : [row.note]),
      ...(row.values === null ? [] : [`takes ${row.values.map((word: string) => `\`${word}\``).join(", ")}`]),
    ];
    if (row.range !== null)
      parts.push(
        row.range[0] === row.range[1] ? `takes ${row.range[0]} only` : `takes ${row.range[0]} to ${row.range[1]}`,
      );
    return [row.support, parts.join("; ")];
  };
  test("the page agrees with the HTTP answer, for every provider and every model that its table distinguishes", async () => {
    const read = pageReader(providersPage([...providers.values()]));
    for (const provider of providers.values())
      for (const name of modelNames(provider)) {
        const { body } = await all(`/api/v1/params?model=${encodeURIComponent(`${provider.id}:${name}`)}`);
        for (const row of [...body.parameters, ...body.content_blocks])
          expect([provider.id, name, row.name, ...read(provider.id, name, row.name)]).toEqual([
            provider.id,
            name,
            row.name,
            ...words(row),
          ]);
      }
  });
  test("the command line prints the HTTP answer", async () => {
    for (const name of ["anthropic:claude-opus-5-5", "openai:o3", "sandbox:echo"]) {
      const [{ body }, { stdout }] = await Promise.all([
        all(`/api/v1/params?model=${name}`),
        runCli(["params", name, "--json"]),
      ]);
      expect(JSON.parse(stdout)).toEqual(body);
      const lines = (await runCli(["params", name])).stdout.split("\n");
      for (const row of [...body.parameters, ...body.content_blocks])
        expect(lines.find((line) => line.startsWith(`${row.name} `))).toContain(` ${row.support}`);
    }
  });
});
