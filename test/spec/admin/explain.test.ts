// `x-gateway-explain: true` (promise 9.4), through the whole gateway: no provider is called, the upstream request is shown as it would be sent, and it contains no secret.
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { newAccessToken } from "../../../src/auth/tokens/access-token.ts";
import type { StoredCredential } from "../../../src/core/configured/credential.ts";
import { COMMON_PARAMETERS } from "../../../src/core/params.ts";
import type { Snapshot } from "../../../src/core/snapshot.ts";
import { BLOCK_TYPES } from "../../../src/core/chat.ts";
import { providers } from "../../../src/providers/registry.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { allows, cellOf, modelNames, SAMPLES } from "../requests/parameter-samples.ts";

const KEY = "sk-operators-own-key-0123456789-wxyz";
const EXPLAIN = { "x-gateway-explain": "true" };
const HELLO = [{ role: "user", content: "Hello there" }];
const upstream = cannedUpstream({
  body: JSON.stringify(openaiAnswer()),
  headers: { "content-type": "application/json" },
});

function open(options: StubOptions = {}): Stub {
  return stubGateway({ upstream, permissions: ["debug", "byo_endpoint"], ...options });
}
const keyed = (credentials: readonly StoredCredential[] = [storedKey(KEY)], id = "openai") =>
  open({ providers: [providerSettings({ id, baseUrl: providers.get(id)!.baseUrl, credentials })] });
const shared = open();

async function explain(
  gateway: Stub,
  body: object,
  headers: Record<string, string> = EXPLAIN,
): Promise<{
  readonly status: number;
  readonly text: string;
  readonly body: any;
  readonly target: any;
  readonly headers: Headers;
}> {
  const response = await gateway.chat({ messages: HELLO, ...body }, { headers });
  const text = await response.text();
  const parsed = JSON.parse(text);
  return { status: response.status, text, body: parsed, target: parsed.targets?.[0], headers: response.headers };
}

describe("[d5.8] the work", () => {
  const fallbacks = Array.from({ length: 20 }, (_, index) => ({
    model: `custom:m${index}`,
    api_key: `sk-of-fallback-${index}`,
  }));
  const saying = (characters: number) => [{ role: "user", content: "Secrets ".repeat(characters / 8) }];

  test("for several targets is bounded together, and refused with the figures", async () => {
    const gateway = open();
    const asked = { model: "openai:gpt-5", fallbacks };
    expect(await explain(gateway, { ...asked, messages: saying(120_000) })).toMatchObject({
      status: 400,
      body: {
        error: {
          code: "invalid_request",
          param: "x-gateway-explain",
          message: expect.stringContaining("at most 2097152 characters in all"),
        },
      },
    });
    expect((await explain(gateway, { ...asked, messages: saying(80_000) })).body.targets).toHaveLength(21);
    expect((await explain(gateway, { model: "openai:gpt-5", messages: saying(2_000_000) })).status).toBe(200);
  });

  test("is done in turns with other calls: several for each target, and more where there are many secrets", async () => {
    const turnsOf = async (body: object): Promise<number> => {
      const gateway = open();
      let turns = 0;
      let isOver = false;
      const count = (): void => {
        turns += 1;
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      expect((await explain(gateway, body)).status).toBe(200);
      isOver = true;
      return turns;
    };
    const messages = saying(80_000);
    expect(await turnsOf({ model: "openai:gpt-5", messages, fallbacks })).toBeGreaterThan(4 * fallbacks.length);
    const secrets = Object.fromEntries(
      Array.from({ length: 64 }, (_, index) => [`password_${index}`, `a word ${index}`]),
    );
    expect(await turnsOf({ model: "openai:gpt-5", messages, x: secrets })).toBeGreaterThan(10);
  });
});

describe("[d9.4] permission to explain", () => {
  test("needs a token with the permission debug; without it 403, whatever else the token may do", async () => {
    for (const permissions of [[], ["byo_endpoint", "custom_price"]] as const) {
      const gateway = open({ permissions });
      expect(await explain(gateway, { model: "openai:gpt-5" })).toMatchObject({
        status: 403,
        body: {
          error: { code: "permission_required", param: "x-gateway-explain", message: expect.stringContaining("debug") },
        },
      });
      expect(gateway.sent).toEqual([]);
    }
  });
  test("false and a missing value are an ordinary call, for every caller; any other word is answered with 400", async () => {
    const gateway = open({ permissions: [] });
    for (const headers of [{}, { "x-gateway-explain": "false" }])
      expect((await explain(gateway, { model: "openai:gpt-5" }, headers as Record<string, string>)).body.object).toBe(
        "chat.completion",
      );
    for (const word of ["1", "TRUE", "yes", ""])
      expect(await explain(shared, { model: "openai:gpt-5" }, { "x-gateway-explain": word })).toMatchObject({
        status: 400,
        body: { error: { code: "invalid_request", param: "x-gateway-explain" } },
      });
  });
  test("what would be refused is refused", async () => {
    expect(await explain(shared, { model: "openai:gpt-5", temperature: 9 })).toMatchObject({
      status: 400,
      body: { error: { param: "temperature" } },
    });
    expect(await explain(shared, { model: "anthropic:claude-opus-4-5", seed: 5 })).toMatchObject({
      status: 400,
      body: { error: { code: "unsupported_parameter" } },
    });
    expect(await explain(shared, { model: "nobody:m" })).toMatchObject({ status: 404 });
  });
});

describe("[d9.4] an explanation has no effects", () => {
  test("no provider is called, no credential is resolved or exchanged, and the record is marked as an explanation", async () => {
    const gateway = open();
    const lent: unknown[] = [];
    Object.assign(gateway.context.credentials, { lend: (stored: unknown) => lent.push(stored) });
    for (const stream of [false, true]) {
      const { status, body, headers } = await explain(gateway, { model: "sandbox:echo", stream });
      expect([status, headers.get("content-type"), body.object, body.stream]).toEqual([
        200,
        "application/json",
        "gateway.explanation",
        stream,
      ]);
      expect(headers.get("x-gateway-trace-id")).toBe(body.x_gateway_trace_id);
    }
    expect([gateway.sent, lent]).toEqual([[], []]);
    for (const record of gateway.records)
      expect(record).toMatchObject({
        explained: true,
        status: 200,
        route: "direct",
        provider: "sandbox",
        model: "echo",
        attempts: [],
        usage: null,
        code: null,
      });
    expect(gateway.records).toHaveLength(2);
  });
  test("credentials that would be exchanged are described by their kind", async () => {
    const common = { weight: 1, fromCaller: false } as const;
    const stored: readonly StoredCredential[] = [
      {
        ...common,
        kind: "google_service_account",
        clientEmail: "a@b.example",
        privateKey: "-----BEGIN PRIVATE KEY-----\nVERYSECRETKEY\n-----END PRIVATE KEY-----",
        privateKeyId: null,
        tokenUrl: "https://token.example",
      },
      {
        ...common,
        kind: "entra_client",
        tenantId: "t",
        clientId: "c",
        clientSecret: "very-secret-client-secret",
        scope: "s",
        tokenUrl: "https://token.example",
      },
      { ...common, kind: "ibm_iam", apiKey: "very-secret-ibm-key", tokenUrl: "https://token.example" },
    ];
    for (const one of stored) {
      const { text, target } = await explain(keyed([one]), { model: "openai:gpt-5" });
      expect(target.credentials).toEqual([{ kind: one.kind, shown: null, from: "configuration", weight: 1 }]);
      expect(target.request.headers.authorization).toBe("Bearer **** (a token, obtained when the call is made)");
      expect(text).not.toMatch(/very-?secret/i);
    }
  });
});

describe("[d9.4] an explanation shows what would be sent", () => {
  test("method, address, headers and body are those of the call, except for the key", async () => {
    for (const id of ["openai", "anthropic", "gemini"]) {
      const gateway = keyed(undefined, id);
      const model = `${id}:${modelNames(providers.get(id)!)[0]!}`;
      const request = {
        model,
        max_tokens: 50,
        stream: true,
        user: "u-1",
        stop: ["END"],
        headers: { "x-of-caller": "kept" },
        a_field: { of: ["its", 12345678901234567890n.toString()] },
      };
      const { target } = await explain(gateway, request);
      await (await gateway.chat({ messages: HELLO, ...request })).text();
      const sent = gateway.sent[0]!;
      const {
        method,
        url,
        headers,
        body,
        body_text: text,
        body_bytes: bytes,
        body_sha256: digest,
        body_text_masked: masked,
      } = target.request;
      expect([method, url, text, bytes, masked]).toEqual([
        "POST",
        sent.url,
        sent.body,
        Buffer.byteLength(sent.body),
        false,
      ]);
      expect(body).toEqual(JSON.parse(sent.body));
      expect(digest).toBe(createHash("sha256").update(sent.body).digest("hex"));
      expect(headers).toEqual(
        Object.fromEntries(Object.entries(sent.headers).map(([name, value]) => [name, value.replace(KEY, "****wxyz")])),
      );
    }
  });
  test("every digit of a number is kept", async () => {
    const response = await shared.chat(
      '{"model": "openai:gpt-5", "seed": 12345678901234567890, "messages": [{"role": "user", "content": "a"}]}',
      { headers: EXPLAIN },
    );
    const text = await response.text();
    expect(text).toContain('"seed": 12345678901234567890');
  });
  test("long base64 is shown by size and digest in the value, and whole in the text", async () => {
    const data = "QUJD".repeat(300_000);
    const { target } = await explain(shared, {
      model: "openai:gpt-5",
      messages: [
        { role: "user", content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }] },
      ],
    });
    const { body, body_abbreviated: abbreviated, body_text: text } = target.request;
    expect(body.messages[0].content[0].image_url.url).toBe("data:image/png;base64,<1.2 MB of base64>");
    expect(abbreviated).toEqual([
      {
        path: "messages[0].content[0].image_url.url",
        bytes: data.length,
        sha256: createHash("sha256").update(data).digest("hex"),
      },
    ]);
    expect(text).toContain(data);
  });
  test("each parameter is shown with its disposition, in the caller's order, and its place in the upstream request", async () => {
    const { target, headers } = await explain(shared, {
      top_k: 5,
      model: "anthropic:claude-opus-4-5",
      temperature: 0.5,
      stop: "x",
      n: 1,
      seed: 5,
      drop_params: true,
      response_format: { type: "json_object" },
      metadata: { a: 1 },
      top_p: null,
    });
    expect(target.parameters.map(({ name, fate, wire }: any) => [name, fate, wire])).toEqual([
      ["top_k", "passed", []],
      ["temperature", "native", []],
      ["stop", "mapped", ["stop_sequences"]],
      ["n", "neutral", []],
      ["seed", "dropped", []],
      ["response_format", "mapped", ["a forced tool call"]],
    ]);
    expect([target.dropped, headers.get("x-gateway-dropped-params")]).toEqual([["seed"], "seed"]);
    const warned = await explain(shared, { model: "openai:gpt-4o", stop: ["a", "b", "c", "d", "e"] });
    expect([warned.target.warnings, warned.headers.get("x-gateway-warnings")]).toEqual([
      ["stop_truncated"],
      "stop_truncated",
    ]);
    const legacy = await explain(shared, { model: "anthropic:claude-opus-4-5", functions: [{ name: "f" }], user: "u" });
    expect(legacy.target.parameters.map(({ name, fate }: any) => [name, fate])).toEqual([
      ["functions", "mapped"],
      ["user", "mapped"],
    ]);
    const served = await explain(shared, { model: "gemini:gemini-2.5-flash", user: "u" });
    expect(served.target.parameters).toEqual([expect.objectContaining({ name: "user", fate: "served" })]);
  });
  test("every parameter and block that is sent in another form is named, for every provider and model", async () => {
    for (const provider of providers.values())
      for (const name of modelNames(provider)) {
        const faults: string[] = [];
        for (const parameter of COMMON_PARAMETERS) {
          const cell = cellOf(provider, parameter, name);
          const value = SAMPLES[parameter].values.find((one) => allows(cell, one));
          if ((cell.support !== "mapped" && cell.support !== "emulated") || value === undefined) continue;
          const { status, target } = await explain(shared, {
            ...SAMPLES[parameter].beside,
            model: `${provider.id}:${name}`,
            [parameter]: value,
          });
          const row = target?.parameters.find((one: any) => one.name === parameter);
          if (status !== 200 || row?.fate !== cell.support || typeof row.note !== "string")
            faults.push(`${parameter}: ${status} ${JSON.stringify(row)}`);
        }
        for (const type of BLOCK_TYPES)
          if (
            ["mapped", "emulated"].includes(provider.capabilities.cells[type].support) &&
            provider.capabilities.cells[type].note === undefined
          )
            faults.push(type);
        expect([provider.id, name, faults]).toEqual([provider.id, name, []]);
      }
  });
  test("the source of each setting is shown", async () => {
    const decided = async (body: object, snapshot: Partial<Snapshot>): Promise<unknown> =>
      (await explain(open({ snapshot }), { model: "openai:gpt-5", ...body })).body.settings.drop_params;
    const scope = (dropParams: boolean | null) => ({ dropParams, disableStopSequenceLimit: null });
    const full: Partial<Snapshot> = {
      settings: scope(true),
      tenantSettings: new Map([["default", scope(false)]]),
      projectSettings: new Map([["default", scope(true)]]),
    };
    expect(await decided({}, {})).toEqual({ value: false, from: "default" });
    expect(await decided({}, { settings: full.settings! })).toEqual({ value: true, from: "global" });
    expect(await decided({}, { ...full, projectSettings: new Map() })).toEqual({ value: false, from: "tenant" });
    expect(await decided({}, full)).toEqual({ value: true, from: "project" });
    expect(await decided({ drop_params: false }, full)).toEqual({ value: false, from: "request" });
  });
  test("the estimated cost is shown with its price", async () => {
    const listed = [
      {
        id: "m",
        name: null,
        contextLength: 100,
        maxCompletionTokens: 1000,
        pricing: { prompt: "0.000001", completion: "0.000002" },
      },
    ];
    const gateway = open({
      providers: [providerSettings({ id: "openai", baseUrl: "https://api.openai.com/v1", models: listed })],
    });
    const { target } = await explain(gateway, { model: "openai:m", n: 3 });
    expect(target.facts).toEqual({ context_tokens: 100, max_output_tokens: 1000 });
    expect(target.estimate).toEqual({
      prompt_tokens: 7,
      completion_tokens_bound: 1000,
      completion_tokens_bound_from: "model",
      choices: 3,
      price: { id: "configuration", prompt: "0.000001", completion: "0.000002" },
      cost_usd: { prompt: "0.000007", completion_bound: "0.006", total_bound: "0.006007" },
    });
    expect((await explain(gateway, { model: "openai:m", max_tokens: 10 })).target.estimate).toMatchObject({
      completion_tokens_bound: 10,
      completion_tokens_bound_from: "request",
    });
    const tools = [{ type: "function", function: { name: "weather", description: "x".repeat(4000) } }];
    expect((await explain(gateway, { model: "openai:m", tools })).target.estimate.prompt_tokens).toBeGreaterThan(1000);
    expect((await explain(gateway, { model: "openai:unknown" })).target.estimate).toMatchObject({
      completion_tokens_bound: null,
      price: null,
      cost_usd: { prompt: null, completion_bound: null, total_bound: null },
    });
    expect(
      (await explain(gateway, { model: "openai:m", base_url: "https://other.example/v1" })).target.estimate.price,
    ).toBeNull();
  });
  test("an address of the caller's own is shown with the check that would be made, and no stored key", async () => {
    const { text, target } = await explain(keyed(), {
      model: "openai:gpt-5",
      base_url: "https://never.looked-up.example/v1",
    });
    expect(target.address_check).toEqual({
      field: "base_url",
      host: "never.looked-up.example",
      private_addresses: "allowed",
      metadata_addresses: "refused",
    });
    expect([target.credentials, target.request.headers]).toEqual([[], { "content-type": "application/json" }]);
    expect(text).not.toContain("wxyz");
    expect((await explain(keyed(), { model: "openai:gpt-5" })).target.address_check).toBeNull();
  });
  test("content that would be fetched is shown, for a provider that takes bytes only", async () => {
    const inlining = new Map(providers).set("openai", {
      ...providers.get("openai")!,
      inlines: () => new Set(["image_url", "document"] as const),
    });
    const stub = open();
    const messages = [
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: "https://pictures.example/a.png?token=abcdefghijkl" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } },
          { type: "document", source: { type: "url", url: "https://files.example/b.pdf" } },
        ],
      },
    ];
    Object.assign(stub.context, { providers: inlining });
    const { target } = await explain(stub, { model: "openai:gpt-4o", messages });
    expect(target.fetches).toEqual([
      {
        path: "messages[0].content[0].image_url.url",
        type: "image_url",
        url: "https://pictures.example/a.png?token=****",
      },
      { path: "messages[0].content[2].source.url", type: "document", url: "https://files.example/b.pdf" },
    ]);
    expect(target.request.body.messages[0].content[0].image_url.url).toBe(
      `data:image/png;base64,${Buffer.from("(fetched when the call is made)").toString("base64")}`,
    );
    expect(target.request.body.messages[0].content[1].image_url.url).toBe("data:image/png;base64,QUJD");
  });
});

describe("[d9.4] unusual input is explained like the rest", () => {
  test("fields may be called like members of every JavaScript object", async () => {
    const { status, target } = await explain(shared, { model: "openai:gpt-5", toString: 1, constructor: { a: 1 } });
    expect([status, target.parameters]).toEqual([
      200,
      [
        { name: "toString", fate: "passed", note: null, wire: [] },
        { name: "constructor", fate: "passed", note: null, wire: [] },
      ],
    ]);
  });
  test("more texts under secret-sounding names than can be searched for in bounded time are refused", async () => {
    const accounts = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ api_key: `one-of-many-${index}-keys` }));
    expect((await explain(shared, { model: "openai:gpt-5", accounts: accounts(64) })).status).toBe(200);
    expect(await explain(shared, { model: "openai:gpt-5", accounts: accounts(65) })).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_request", param: "x-gateway-explain" } },
    });
  });
  test("an invalid address to fetch is explained", async () => {
    const content = [{ type: "file", file: { file_id: "http://[" } }];
    expect(
      await explain(shared, { model: "bedrock:anthropic.claude-opus-4-5", messages: [{ role: "user", content }] }),
    ).toMatchObject({
      status: 200,
      target: { fetches: [{ url: "http://[", path: "messages[0].content[0].file.file_id" }] },
    });
  });
});

describe("[d9.4] secrets never appear", () => {
  const SECRET = "sk-callers/own+key-ABCDEFGHIJKL-7890";
  const escaped = (secret: string): string =>
    Array.from(secret, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  /** In any spelling, and no long part of it. */
  function expectHidden(text: string, secret: string): void {
    const value = JSON.stringify(JSON.parse(text));
    for (const spelling of [
      secret,
      encodeURIComponent(secret),
      escaped(secret),
      secret.replaceAll("/", "\\/"),
      secret.slice(0, 12),
      secret.slice(-8),
    ])
      expect([spelling, text.includes(spelling) || value.includes(spelling)]).toEqual([spelling, false]);
  }

  test("the operator's key is hidden wherever it stands: header, address, body, headers of the caller", async () => {
    const gateway = open({
      providers: [
        providerSettings({ id: "openai", baseUrl: `https://proxy.example/${KEY}/v1`, credentials: [storedKey(KEY)] }),
        providerSettings({ id: "groq", baseUrl: "https://api.groq.com/openai/v1", credentials: [storedKey(SECRET)] }),
      ],
    });
    const { text, target } = await explain(gateway, {
      model: `openai:gpt-5`,
      messages: [{ role: "user", content: `my key is ${KEY} and ${SECRET}` }],
      headers: { "x-note": `see ${KEY}` },
      [`a_${KEY}`]: [KEY],
    });
    expectHidden(JSON.stringify(target.request), KEY);
    expectHidden(JSON.stringify(target.request), SECRET);
    expect(target.request).toMatchObject({
      url: "https://proxy.example/****wxyz/v1/chat/completions",
      headers: { authorization: "Bearer ****wxyz", "x-note": "see ****wxyz" },
      body_text_masked: true,
    });
    expect(JSON.parse(target.request.body_text)).toEqual(target.request.body);
    expect(text).not.toContain(SECRET);
  });
  test("a key is hidden also where an address encodes it", async () => {
    const gateway = open({
      providers: [
        providerSettings({
          id: "openai",
          baseUrl: `https://proxy.example/${encodeURIComponent(SECRET)}/v1`,
          credentials: [storedKey(SECRET)],
        }),
      ],
    });
    expectHidden((await explain(gateway, { model: "openai:gpt-5" })).text, SECRET);
  });
  test("the key that the request brought is hidden", async () => {
    const { text, target } = await explain(shared, {
      model: "openai:gpt-5",
      api_key: SECRET,
      messages: [{ role: "user", content: `again ${SECRET}` }],
    });
    expectHidden(text, SECRET);
    expect(target.credentials).toEqual([{ kind: "key", shown: "****7890", from: "request", weight: 1 }]);
    expect(target.request.headers.authorization).toBe("Bearer ****7890");
  });
  test("values that a caller's header or pass-through field names as a secret, in any spelling, are hidden", async () => {
    const { text, target } = await explain(shared, {
      model: "openai:gpt-5",
      headers: { "x-functions-key": SECRET, "x-plain": "shown" },
      extra_body: { deep: [{ api_key: SECRET, client_secret: SECRET, password: SECRET, note: `${SECRET}!` }] },
    });
    expectHidden(text, SECRET);
    expect(target.request.headers).toMatchObject({ "x-functions-key": "****7890", "x-plain": "shown" });
    const alone = await explain(shared, { model: "openai:gpt-5", extra_headers: { "X-Some-Token": SECRET } });
    expectHidden(alone.text, SECRET);
    const spelled = await shared.chat(
      `{"model": "openai:gpt-5", "x": {"api_key": "${escaped(SECRET)}"}, "y": "${escaped(SECRET)}", "messages": [{"role": "user", "content": "${escaped(SECRET)}"}]}`,
      { headers: EXPLAIN },
    );
    expectHidden(await spelled.text(), SECRET);
  });
  test("the access token itself is hidden", async () => {
    const made = newAccessToken("project");
    const first = shared.context.snapshot().tokens.values().next().value!;
    const gateway = open({
      snapshot: {
        tokens: new Map([[made.id, { ...first, id: made.id, secrets: [{ sha256: made.sha256, retiresAtMs: null }] }]]),
      },
    });
    const { text, body } = await explain(
      gateway,
      { model: "openai:gpt-5", messages: [{ role: "user", content: made.text }] },
      { ...EXPLAIN, authorization: `Bearer ${made.text}` },
    );
    expectHidden(text, made.text.slice(-20));
    expect(body.caller).toMatchObject({
      token: made.id,
      tenant: "default",
      project: "default",
      permissions: ["byo_endpoint", "debug"],
    });
  });
  test("an address with a key in its query is not accepted", async () => {
    const { status, text } = await explain(shared, {
      model: "openai:gpt-5",
      base_url: `https://a.example/v1?key=${SECRET}`,
    });
    expect(status).toBe(400);
    expectHidden(text, SECRET);
  });
  test("a secret whose end is a replacement pattern is hidden", async () => {
    for (const ending of ["$&", "$`", "$'", "$$", "$1"]) {
      const secret = `sk-operators-own-key-12345678${ending}`;
      const { text } = await explain(keyed([storedKey(secret)]), {
        model: "openai:gpt-5",
        user: secret,
        seen: `before ${secret} after`,
        messages: [{ role: "user", content: secret }],
      });
      expect([ending, text.includes(secret), text.includes(`****78${ending}`)]).toEqual([
        ending,
        false,
        ending.length === 2,
      ]);
    }
  });
  test("short keys are hidden completely", async () => {
    const { target } = await explain(keyed([storedKey("short-key")]), { model: "openai:gpt-5" });
    expect([target.request.headers.authorization, target.credentials[0].shown]).toEqual(["Bearer ****", "****"]);
  });
  test("of a key pair that signs, what would be signed is shown, and neither secret nor signature", async () => {
    const signing = new Map(providers).set("openai", {
      ...providers.get("openai")!,
      credentials: ["aws"] as const,
      sign: (
        request: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
        credential: { readonly accessKeyId?: string; readonly sessionToken?: string; readonly secret: string } | null,
      ) => ({
        ...request,
        headers: {
          ...request.headers,
          "x-amz-security-token": credential?.sessionToken ?? "",
          authorization: `AWS4-HMAC-SHA256 Credential=${credential?.accessKeyId}/20260101/r/bedrock/aws4_request, SignedHeaders=host, Signature=${createHash(
            "sha256",
          )
            .update(credential?.secret ?? "")
            .digest("hex")}`,
        },
      }),
    });
    const pair: StoredCredential = {
      kind: "aws_keys",
      accessKeyId: "AKIAEXAMPLEEXAMPLE99",
      secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      sessionToken: "session-token-of-some-length",
      weight: 2,
      fromCaller: false,
    };
    const gateway = keyed([pair]);
    Object.assign(gateway.context, { providers: signing });
    const { text, target } = await explain(gateway, { model: "openai:gpt-5" });
    expect(target.request.headers).toMatchObject({
      authorization:
        "AWS4-HMAC-SHA256 Credential=****LE99/20260101/r/bedrock/aws4_request, SignedHeaders=host, Signature=(computed when the call is made)",
      "x-amz-security-token": "****ngth",
    });
    for (const secret of [pair.accessKeyId, pair.secretAccessKey, pair.sessionToken!]) expectHidden(text, secret);
  });
});
