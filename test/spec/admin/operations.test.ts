// What is served beside and around the one operation (promises 9.5 to 9.7), on a real server in this process: paths, headers, errors and listings
// that clients of the field demand, each of their points (H1 to H18, M1 to M5, R11) a test of its own. R1 to R12 but for R11, which concern the request alone, are in client-requests.test.ts.
import { afterAll, describe, expect, test } from "bun:test";
import { newAccessToken } from "../../../src/auth/tokens/access-token.ts";
import { GATEWAY_ERRORS } from "../../../src/engine/call/called-operation.ts";
import { errorResponse } from "../../../src/engine/call/reply-headers.ts";
import { targetStandings } from "../../../src/engine/plan/open-routing.ts";
import { handleCall } from "../../../src/engine/handle.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { CATALOGUE, type ErrorCode, GatewayError } from "../../../src/core/errors.ts";
import { UNRESTRICTED, type AccessToken } from "../../../src/core/identity.ts";
import type { ProviderSettings } from "../../../src/core/snapshot.ts";
import { createApp } from "../../../src/http/app.ts";
import { refuseUnservedWith } from "../../../src/http/unserved-operations.ts";
import { openServer } from "../../../src/http/server.ts";
import { openMetrics } from "../../../src/observe/metrics/metrics.ts";
import { BUILT_IN_MODELS, providers } from "../../../src/providers/registry.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { until, untilFound } from "../../harness/time/until.ts";
import { idleStanding } from "../../harness/standing.ts";

interface Served {
  readonly url: string;
  readonly stub: Stub;
  readonly token: string;
  /** Of an owner of the tenant `default` who is no operator. */
  readonly ownerToken: string;
  /** Of an operator, who is a viewer of another tenant. */
  readonly operatorToken: string;
  /** Of a project, with the permission `ops`. */
  readonly scraperToken: string;
  readonly app: ReturnType<typeof createApp>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  chat(body: unknown, headers?: Record<string, string>, path?: string): Promise<Response>;
}

const servers: { stop(force: boolean): Promise<void> }[] = [];
afterAll(() => Promise.all(servers.map((server) => server.stop(true))));

function serve(options: StubOptions = {}, notReady: () => string | null = () => null): Served {
  const texts = {
    project: newAccessToken("project"),
    scraper: newAccessToken("project"),
    operator: newAccessToken("personal"),
    admin: newAccessToken("personal"),
    expired: newAccessToken("project"),
  };
  const common = {
    name: "test",
    tenantId: "default",
    permissions: ["byo_endpoint"] as const,
    ...UNRESTRICTED,
    createdAtMs: 0,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
    revokedAtMs: null,
  };
  const tokens: readonly AccessToken[] = [
    {
      ...common,
      id: texts.project.id,
      kind: "project",
      projectId: "default",
      userId: null,
      role: "developer",
      secrets: [{ sha256: texts.project.sha256, retiresAtMs: null }],
    },
    {
      ...common,
      id: texts.scraper.id,
      kind: "project",
      projectId: "default",
      userId: null,
      role: "maintainer",
      permissions: ["ops"],
      secrets: [{ sha256: texts.scraper.sha256, retiresAtMs: null }],
    },
    {
      ...common,
      id: texts.operator.id,
      kind: "personal",
      tenantId: "acme",
      projectId: null,
      userId: "olga",
      role: null,
      secrets: [{ sha256: texts.operator.sha256, retiresAtMs: null }],
    },
    {
      ...common,
      id: texts.admin.id,
      kind: "personal",
      projectId: null,
      userId: "ann",
      role: null,
      secrets: [{ sha256: texts.admin.sha256, retiresAtMs: null }],
    },
  ];
  const memberships = new Map([
    ["ann", [{ userId: "ann", tenantId: "default", projectId: null, role: "owner" as const }]],
    ["olga", [{ userId: "olga", tenantId: "acme", projectId: null, role: "viewer" as const }]],
  ]);
  const operators = new Map([["olga", "acme"]]);
  const stub = stubGateway({
    ...options,
    snapshot: {
      tokens: new Map(tokens.map((token) => [token.id, token])),
      memberships,
      operators,
      ...options.snapshot,
    },
  });
  const targets = () => targetStandings(stub.context.routing, systemClock.monotonic());
  const metrics = openMetrics({ targets });
  const app = createApp({
    clock: systemClock,
    version: "1.2.3",
    snapshot: () => stub.context.snapshot(),
    refuseUnserved: refuseUnservedWith(stub.context),
    models: { providers, builtIn: BUILT_IN_MODELS },
    logins: stub.context.logins,
    metrics: async () => ({ text: await metrics.text(), contentType: metrics.contentType }),
    notReady,
    standing: () => idleStanding(targets()),
  });
  const onFault = (fault: unknown): never => {
    throw fault;
  };
  const server = openServer({
    host: "127.0.0.1",
    port: 0,
    call: (operation, request, peers) => handleCall(operation, request, stub.context, peers),
    app,
    onFault,
  });
  servers.push(server);
  const url = `http://127.0.0.1:${server.port}`;
  const token = texts.project.text;
  return {
    url,
    stub,
    token,
    app,
    ownerToken: texts.admin.text,
    operatorToken: texts.operator.text,
    scraperToken: texts.scraper.text,
    get: (path, headers = {}) => fetch(url + path, { headers: { authorization: `Bearer ${token}`, ...headers } }),
    chat: (body, headers = {}, path = "/api/v1/chat/completions") =>
      fetch(url + path, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
  };
}

const ECHO = { model: "sandbox:echo", messages: [{ role: "user", content: "hello there" }] } as const;
const OPENAI = { model: "openai:gpt-4o-mini", messages: [{ role: "user", content: "hi" }] } as const;
const answering = (body: object, status = 200, headers: Readonly<Record<string, string>> = {}) => ({
  upstream: cannedUpstream({
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  }),
});
const errorOf = async (response: Response): Promise<Record<string, any>> =>
  ((await response.json()) as { error: Record<string, any> }).error;
const plain = serve();

describe("HTTP, headers and errors", () => {
  test("[d9.7] H1: a plain success is application/json", async () => {
    const response = await plain.chat(ECHO);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: "hello there" } }] });
  });

  test("[d9.7] H2: a streamed success is an event stream that no proxy may buffer or change", async () => {
    const response = await plain.chat({ ...ECHO, stream: true });
    const headers = ["content-type", "cache-control", "x-accel-buffering"].map((name) => response.headers.get(name));
    expect(headers).toEqual(["text/event-stream; charset=utf-8", "no-cache, no-transform", "no"]);
    expect(readStream(await response.text()).content).toBe("hello there");
  });

  test("[d9.7, d5.1] H3: x-request-id is on every response and is the trace id", async () => {
    const responses = await Promise.all([
      plain.chat(ECHO),
      plain.chat({ ...ECHO, stream: true }),
      plain.chat("{"),
      plain.chat({ ...ECHO, model: "no:such" }),
      plain.get("/api/v1/models"),
      plain.get("/api/v1/models/none"),
      plain.get("/healthz"),
      plain.get("/nowhere"),
      fetch(`${plain.url}/api/v1/chat/completions`, { method: "PUT" }),
    ]);
    const ids = responses.map((response) => response.headers.get("x-request-id"));
    expect(ids.every((id) => /^\w{20,}$/.test(String(id)))).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [index, response] of responses.entries()) {
      expect(response.headers.get("x-gateway-trace-id")).toBe(ids[index]!);
      const text = await response.text();
      if (response.status >= 400) expect(JSON.parse(text)).toMatchObject({ x_gateway_trace_id: ids[index]! });
    }
  });

  test("[d9.7, d5.1] H4: an error has message, type, param and code, of the right types, wherever it comes from", async () => {
    const failing = serve(answering({ error: { message: "Try later.", code: 42, type: null, param: 3 } }, 500));
    const responses = await Promise.all([
      plain.chat("["),
      plain.chat({ ...ECHO, temperature: 9 }),
      plain.get("/nowhere"),
      failing.chat(OPENAI),
      fetch(`${plain.url}/api/v1/models`),
      plain.get("/api/v1/responses"),
    ]);
    for (const response of responses) {
      expect(response.headers.get("content-type")).toBe("application/json");
      const { message, type, param, code, metadata: _attempts, ...rest } = await errorOf(response);
      expect([typeof message, typeof type, typeof code, param === null || typeof param === "string", rest]).toEqual([
        "string",
        "string",
        "string",
        true,
        {},
      ]);
    }
  });

  /** What clients of the one operation never see. */
  const ofAdministration = new Set(["already_exists", "conflict", "etag_mismatch", "idempotency_mismatch"]);
  const CALLS = Object.entries(CATALOGUE).filter(([code]) => !ofAdministration.has(code));

  test("[d9.7] H5: every status maps to an error class of the client libraries", () => {
    const known = new Set([400, 401, 402, 403, 404, 405, 408, 413, 415, 429, 499]);
    for (const [code, { status }] of CALLS) expect([code, status >= 500 || known.has(status)]).toEqual([code, true]);
    expect(CALLS.some(([, { status }]) => status === 412 || status === 446)).toBe(false);
  });

  test("[d9.7] H6: x-should-retry is false exactly where the same call cannot succeed", () => {
    for (const code of Object.keys(CATALOGUE) as ErrorCode[]) {
      const { headers } = errorResponse(GATEWAY_ERRORS, new GatewayError(code, "words"), "trace", 0, {});
      expect([code, headers.get("x-should-retry")]).toEqual([code, CATALOGUE[code].retry ? null : "false"]);
    }
  });

  test("[d9.7] H7: no permanent failure has a status that client libraries retry", () => {
    for (const [code, { status, retry, source }] of CALLS) {
      expect([code, status]).not.toEqual([code, 409]);
      if (status === 408) expect([code, retry]).toEqual([code, true]);
      if (source === "client" && !retry)
        expect([code, [401, 403, 404, 405, 413, 415].includes(status) || status === 400]).toEqual([code, true]);
    }
  });

  test("[d9.7] H8: a rate limit has retry-after-ms and retry-after, also where the provider gave a date or nothing", async () => {
    const date = new Date(1_767_225_600_000 + 9000).toUTCString();
    for (const [headers, want] of [
      [{}, ["1", "1000"]],
      [{ "retry-after": date }, ["9", "9000"]],
      [{ "retry-after": "0.25" }, ["1", "250"]],
    ] as const) {
      const response = await serve(
        answering({ error: { message: "Slow down.", code: "rate_limit_exceeded" } }, 429, headers),
      ).chat(OPENAI);
      expect([response.status, response.headers.get("retry-after"), response.headers.get("retry-after-ms")]).toEqual([
        429,
        ...want,
      ]);
    }
  });

  test("[d9.7] H9: a rate limit is rate_limit_exceeded, an account without credit insufficient_quota", async () => {
    const limited = await serve(
      answering({ error: { message: "Slow down.", type: "requests", code: null } }, 429),
    ).chat(OPENAI);
    const spent = await serve(
      answering({ error: { message: "You exceeded your current quota.", code: "insufficient_quota" } }, 429),
    ).chat({ ...OPENAI, api_key: "callers-own" });
    expect([(await errorOf(limited))["code"], limited.headers.get("x-should-retry")]).toEqual([
      "rate_limit_exceeded",
      null,
    ]);
    expect([(await errorOf(spent))["code"], spent.headers.get("x-should-retry")]).toEqual([
      "insufficient_quota",
      "false",
    ]);
  });

  test("[d9.7] H10: a rate limit says try again in N s, and the gateway adds no word that clients read as permanent", async () => {
    for (const said of ["Rate limit reached", "", "Too many requests. Please try again in 20s."]) {
      const { message } = await errorOf(
        await serve(answering({ error: { message: said, code: "rate_limit_exceeded" } }, 429)).chat(OPENAI),
      );
      expect(message).toMatch(/try again in \d+ ?s/i);
      expect(message).not.toMatch(/billing|credit balance|quota exhausted|will reset at|out of credits/i);
    }
  });

  test("[d9.7] H11: a conversation that is too long is 400 context_length_exceeded and says maximum context length", async () => {
    const response = await serve(
      answering({ error: { message: "Input is too long for requested model.", code: "context_length_exceeded" } }, 413),
    ).chat(OPENAI);
    const { code, message } = await errorOf(response);
    expect([response.status, code]).toEqual([400, "context_length_exceeded"]);
    expect(message).toContain("maximum context length");
  });

  test("[d9.7] H12: an unknown model is answered with 404 model_not_found, whether the gateway or the provider does not know it", async () => {
    const theirs = await serve(answering({ error: { message: "The model `m` does not exist", code: null } }, 400)).chat(
      OPENAI,
    );
    for (const response of [
      theirs,
      await plain.chat({ ...ECHO, model: "nobody:m" }),
      await plain.chat({ ...ECHO, model: "m" }),
    ])
      expect([response.status, (await errorOf(response))["code"]]).toEqual([404, "model_not_found"]);
  });

  test("[d9.7] H13: a stream that fails before its first content has the status of the failure and a JSON body", async () => {
    for (const [model, status] of [
      ["sandbox:fail-429", 429],
      ["sandbox:fail-500", 502],
      ["sandbox:garbage", 502],
      ["sandbox:none", 404],
    ] as const) {
      const response = await plain.chat({ ...ECHO, model, stream: true });
      expect([model, response.status, response.headers.get("content-type")]).toEqual([
        model,
        status,
        "application/json",
      ]);
      await response.json();
    }
  });

  test("[d9.7] H14: headers of client libraries are accepted and not forwarded", async () => {
    const served = serve(answering(openaiAnswer()));
    const sent = {
      "x-stainless-lang": "js",
      "x-stainless-timeout": "600",
      "openai-organization": "org-1",
      "openai-project": "p",
      "http-referer": "https://a.test",
      "x-title": "t",
      "idempotency-key": "k",
    };
    const response = await served.chat(OPENAI, sent);
    expect(response.status).toBe(200);
    for (const name of Object.keys(sent)) expect(served.stub.sent[0]!.headers).not.toHaveProperty(name);
  });

  test("[d9.7] H15: a client that announces its own time limit receives the gateway's error before that limit", async () => {
    const response = await plain.chat({ ...ECHO, model: "sandbox:stall" }, { "x-stainless-timeout": "1" });
    const error = await errorOf(response);
    expect([response.status, error["code"]]).toEqual([504, "upstream_timeout"]);
    expect(error["message"]).toContain("0.5 s");
  });

  test("[d9.7] H16: a body that is too large is answered with 413 and an error, with and without a Content-Length", async () => {
    const small = serve({ limits: { maxBodyBytes: 2048 } });
    const big = JSON.stringify({ ...ECHO, messages: [{ role: "user", content: "x".repeat(300_000) }] });
    const pieces = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < big.length; at += 10_000)
          controller.enqueue(new TextEncoder().encode(big.slice(at, at + 10_000)));
        controller.close();
      },
    });
    const headers = { authorization: `Bearer ${small.token}`, "content-type": "application/json" };
    for (const body of [big, pieces]) {
      const response = await fetch(`${small.url}/api/v1/chat/completions`, { method: "POST", headers, body });
      expect([response.status, (await errorOf(response))["code"]]).toEqual([413, "body_too_large"]);
    }
    expect((await small.chat(ECHO)).status).toBe(200);
  });

  test("[d9.7, d9.6, s:versioning.1] H17: the operation answers under /api/v1 and under common variants of it, also with a trailing slash", async () => {
    for (const base of ["/api/v1", "/v1", "/api", ""])
      for (const end of ["", "/"]) {
        const response = await plain.chat(ECHO, {}, `${base}/chat/completions${end}`);
        expect([base + end, response.status, ((await response.json()) as any).choices[0].message.content]).toEqual([
          base + end,
          200,
          "hello there",
        ]);
        expect([base + end, ((await (await plain.get(`${base}/models${end}`)).json()) as any).object]).toEqual([
          base + end,
          "list",
        ]);
      }
  });

  test("[d9.7] H18: other origins are refused until cors.origins names them, and may then read the headers that they need", async () => {
    const origin = "https://chat.example.com";
    const preflight = (served: Served, from: string) =>
      fetch(`${served.url}/api/v1/chat/completions`, {
        method: "OPTIONS",
        headers: {
          origin: from,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type,x-stainless-os",
        },
      });
    const refused = await preflight(plain, origin);
    expect([refused.status, refused.headers.get("allow"), ((await refused.json()) as any).error.code]).toEqual([
      405,
      "POST",
      "method_not_allowed",
    ]);
    expect((await plain.chat(ECHO, { origin })).headers.get("access-control-allow-origin")).toBeNull();

    const open = serve({ snapshot: { corsOrigins: [origin] } });
    const allowed = await preflight(open, origin);
    expect([
      allowed.status,
      allowed.headers.get("access-control-allow-origin"),
      allowed.headers.get("access-control-allow-headers"),
    ]).toEqual([204, origin, "authorization,content-type,x-stainless-os"]);
    // pages delete responses that are kept, end sessions of MCP, and change what the admin API serves, with its ETag
    expect(allowed.headers.get("access-control-allow-methods")!.split(", ")).toEqual(
      expect.arrayContaining(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    );
    for (const response of [
      await open.chat(ECHO, { origin }),
      await open.chat({ ...ECHO, stream: true }, { origin }),
      await open.chat("{", { origin }),
      await open.get("/api/v1/models", { origin }),
    ]) {
      expect(response.headers.get("access-control-allow-origin")).toBe(origin);
      expect(response.headers.get("access-control-expose-headers")).toMatch(
        /x-request-id.*mcp-session-id.*etag.*x-gateway-next-cursor.*retry-after/,
      );
      expect(response.headers.get("vary")).toBe("origin");
      await response.body?.cancel();
    }
    expect((await preflight(open, "https://evil.example")).status).toBe(405);
    expect(
      (await open.chat(ECHO, { origin: "https://evil.example" })).headers.get("access-control-allow-origin"),
    ).toBeNull();
  });
});

describe("the list of models", () => {
  const priced: ProviderSettings = providerSettings({
    id: "mine",
    family: "openai",
    baseUrl: "https://provider.test/v1",
    credentials: [storedKey("k")],
    models: [
      {
        id: "team/big:v2",
        name: null,
        contextLength: 8192,
        maxCompletionTokens: 1024,
        pricing: { prompt: "0.000001", completion: "0.000002" },
      },
    ],
  });
  const off: ProviderSettings = providerSettings({
    id: "off",
    family: "openai",
    enabled: false,
    models: [{ id: "m", name: null, contextLength: null, maxCompletionTokens: null, pricing: null }],
  });
  const sandbox: ProviderSettings = providerSettings({ id: "sandbox" });
  const listing = serve({ providers: [priced, off, sandbox] });
  const data = async (): Promise<readonly Record<string, any>[]> =>
    ((await (await listing.get("/api/v1/models")).json()) as { data: Record<string, any>[] }).data;

  test("[d9.7] M1: is {object: list, data: [{id, object, created, owned_by}]} as JSON", async () => {
    const response = await listing.get("/api/v1/models");
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    const body = (await response.json()) as { object: string; data: Record<string, any>[] };
    expect(body.object).toBe("list");
    for (const model of body.data)
      expect([
        typeof model["id"],
        model["object"],
        Number.isInteger(model["created"]),
        typeof model["owned_by"],
      ]).toEqual(["string", "model", true, "string"]);
  });

  test("[d9.7] M2: asks no provider", async () => {
    await data();
    expect(listing.stub.sent).toHaveLength(0);
  });

  test("[d9.7] M3: has ids that can be called as they are, of enabled providers only, for callers with a token", async () => {
    const ids = (await data()).map((model) => String(model["id"]));
    expect(ids).toContain("mine:team/big:v2");
    expect(ids.some((id) => id.startsWith("off:"))).toBe(false);
    expect((await listing.chat({ ...ECHO, model: ids.find((id) => id === "sandbox:echo") })).status).toBe(200);
    expect((await fetch(`${listing.url}/api/v1/models`)).status).toBe(401);
  });

  test("[d9.7] M4: gives context length, prices as strings, output bound and supported parameters", async () => {
    const model = (await data()).find(({ id }) => id === "mine:team/big:v2")!;
    expect(model).toMatchObject({
      context_length: 8192,
      pricing: { prompt: "0.000001", completion: "0.000002" },
      top_provider: { max_completion_tokens: 1024 },
    });
    expect(model["supported_parameters"]).toContain("temperature");
    const echo = (await data()).find(({ id }) => id === "sandbox:echo")!;
    expect(echo["supported_parameters"]).not.toContain("logprobs");
  });

  test("[d9.7] M5: has a name for each, and an entry by itself for each, with the id in the path as it is or encoded", async () => {
    for (const model of await data()) expect(typeof model["name"]).toBe("string");
    for (const path of ["mine:team/big:v2", "mine%3Ateam%2Fbig%3Av2", encodeURIComponent("mine:team/big:v2")])
      expect((await (await listing.get(`/api/v1/models/${path}`)).json()) as object).toMatchObject({
        id: "mine:team/big:v2",
        object: "model",
      });
    for (const path of ["nobody:m", "off:m", "mine:", "x", "%E0%A4%A"]) {
      const response = await listing.get(`/v1/models/${path}`);
      expect([path, response.status, (await errorOf(response))["code"]]).toEqual([path, 404, "model_not_found"]);
    }
  });
});

describe("operations", () => {
  const body = async (response: Response): Promise<Record<string, any>> =>
    (await response.json()) as Record<string, any>;
  const from = (
    served: Served,
    path: string,
    peer: string | null,
    headers: Record<string, string> = {},
  ): Promise<Response> =>
    Promise.resolve(served.app.fetch(new Request(`http://gateway.test${path}`, { headers }), { peer }));

  test("[d9.5] /healthz and /readyz answer every caller, and /readyz follows the gateway's state", async () => {
    let why: string | null = null;
    const served = serve({}, () => why);
    expect(await body(await fetch(`${served.url}/healthz`))).toEqual({ status: "ok" });
    expect((await from(served, "/readyz", "203.0.113.9")).status).toBe(200);
    why = "the gateway is shutting down";
    const response = await fetch(`${served.url}/readyz`);
    expect([response.status, await body(response)]).toEqual([503, { status: "not_ready", reason: why }]);
    expect((await fetch(`${served.url}/healthz`)).status).toBe(200);
    // the paths of LiteLLM
    for (const path of ["/health/liveliness", "/health/liveness"])
      expect((await fetch(served.url + path)).status).toBe(200);
    expect(await body(await fetch(`${served.url}/health/readiness`))).toEqual({ status: "not_ready", reason: why });
  });

  test("[d2.3] [d9.5] /metrics and /readyz?verbose answer loopback, operators and tokens with the permission ops only: an owner of the first tenant is no operator", async () => {
    for (const path of ["/metrics", "/readyz?verbose"]) {
      for (const peer of ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
        expect([path, peer, (await from(plain, path, peer)).status]).toEqual([path, peer, 200]);
      expect((await from(plain, path, "203.0.113.9")).status).toBe(401);
      expect((await from(plain, path, null)).status).toBe(401);
      const as = async (token: string, served = plain): Promise<number> =>
        (await from(served, path, "203.0.113.9", { authorization: `Bearer ${token}` })).status;
      expect([
        await as(plain.token),
        await as(plain.ownerToken),
        await as(plain.operatorToken),
        await as(plain.scraperToken),
      ]).toEqual([403, 403, 200, 200]);
      const elsewhere = serve({ snapshot: { operators: new Map([["olga", "default"]]) } });
      expect(await as(elsewhere.operatorToken, elsewhere)).toBe(403);
      expect((await from(serve({ snapshot: { opsOpen: true } }), path, "203.0.113.9")).status).toBe(200);
    }
    expect(await body(await plain.get("/readyz?verbose"))).toMatchObject({
      status: "ready",
      version: "1.2.3",
      calls_in_flight: 0,
    });
  });

  test("[d9.5] any header of a proxy, known or not, removes the privilege of loopback, and so does a public host name in the request", async () => {
    const proxies = [
      "x-forwarded-for",
      "x-forwarded-host",
      "x-forwarded-proto",
      "x-forwarded-server",
      "x-original-forwarded-for",
      "x-original-host",
      "forwarded",
      "forwarded-for",
      "via",
      "x-real-ip",
      "cf-connecting-ip",
      "cf-ray",
      "true-client-ip",
      "x-client-ip",
      "x-cluster-client-ip",
      "fastly-client-ip",
      "x-envoy-external-address",
      "x-amzn-trace-id",
      "x-request-id",
      "cdn-loop",
      "x-of-a-proxy-that-is-not-yet-written",
    ];
    for (const path of ["/metrics", "/readyz?verbose"]) {
      for (const name of proxies)
        expect([path, name, (await from(plain, path, "127.0.0.1", { [name]: "" })).status]).toEqual([path, name, 401]);
      for (const host of ["gateway.example.com", "10.0.0.7:8080", "localhost.example.com", "127.0.0.1.example.com"])
        expect([host, (await from(plain, path, "127.0.0.1", { host })).status]).toEqual([host, 401]);
      for (const host of ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:8080"])
        expect([host, (await from(plain, path, "127.0.0.1", { host })).status]).toEqual([host, 200]);
      // on a real socket, as curl, a browser and Prometheus ask
      const asked = [
        "accept",
        "accept-language",
        "user-agent",
        "traceparent",
        "sec-fetch-site",
        "x-prometheus-scrape-timeout-seconds",
      ].map((name) => [name, "10"]);
      expect(
        (await fetch(plain.url + path, { headers: Object.fromEntries(asked) as Record<string, string> })).status,
      ).toBe(200);
      expect((await fetch(plain.url + path, { headers: { via: "1.1 proxy" } })).status).toBe(401);
    }
  });

  test("[d2.3] a token with the permission ops does nothing but read /metrics and /readyz?verbose, whatever its role", async () => {
    const headers = { authorization: `Bearer ${plain.scraperToken}` };
    const answers = await Promise.all([
      plain.chat(ECHO, headers),
      plain.get("/api/v1/models", headers),
      plain.get("/api/v1/models/sandbox:echo", headers),
      plain.get("/api/v1/params?model=sandbox:echo", headers),
    ]);
    for (const answer of answers)
      expect([answer.status, (await errorOf(answer)).code]).toEqual([403, "insufficient_role"]);
  });

  test("[d7.5] [d9.5] an open breaker is shown in /metrics and /readyz?verbose, and targets that callers bring are not", async () => {
    const failing = serve({ upstream: cannedUpstream({ status: 500, body: '{"error":{"message":"Down."}}' }) });
    const call = { model: "openai:gpt-4o", messages: [{ role: "user", content: "Hello" }] };
    for (let calls = 0; calls < 5; calls++) expect((await failing.chat(call)).status).toBe(502);
    for (let calls = 0; calls < 5; calls++)
      expect((await failing.chat({ ...call, model: "groq:mine", api_key: "mine" })).status).toBe(502);
    expect(((await body(await failing.get("/readyz?verbose"))) as { targets: unknown }).targets).toEqual([
      {
        target: "openai:gpt-4o",
        state: "open",
        calls_in_flight: 0,
        calls_waiting: 0,
        first_content_ms: null,
        open_for_ms: expect.any(Number),
      },
    ]);
    const text = await (await failing.get("/metrics")).text();
    expect(text).toContain('dragoman_target_state{target="openai:gpt-4o",state="open"} 1');
    expect(text).toContain('dragoman_target_state{target="openai:gpt-4o",state="closed"} 0');
    expect(text).toContain('dragoman_target_calls_in_flight{target="openai:gpt-4o"} 0');
    expect(text).not.toContain("mine");
  });

  test("[d9.5] /metrics speaks the text format of Prometheus", async () => {
    const response = await plain.get("/metrics");
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    for (const name of ["dragoman_calls_in_flight", "dragoman_calls_total", "process_resident_memory_bytes"])
      expect(text).toContain(`# TYPE ${name} `);
  });

  test("[d9.5] Server-Timing is the gateway's own time, on every answer, and does not count the wait for a provider", async () => {
    const own = (response: Response): number =>
      Number(/^gw;dur=(\d+\.\d{3})$/.exec(response.headers.get("server-timing") ?? "")?.[1] ?? Number.NaN);
    for (const response of [
      await plain.chat(ECHO),
      await plain.chat({ ...ECHO, stream: true }),
      await plain.chat("{"),
      await plain.get("/healthz"),
      await plain.get("/api/v1/models"),
      await plain.get("/nowhere"),
    ]) {
      expect(own(response)).toBeGreaterThanOrEqual(0);
      await response.body?.cancel();
    }
    const startedMs = performance.now();
    const slow = await plain.chat({ ...ECHO, model: "sandbox:slow-200" });
    expect(slow.status).toBe(200);
    expect(own(slow)).toBeLessThan(performance.now() - startedMs - 190);
  });

  test("[d12.6] a client of the Messages API whose base address has a version is told what to set, in its own envelope", async () => {
    for (const [base, right] of [
      ["/v1", "set it to the address of this gateway, without /v1"],
      ["/api/v1", "set it to the address of this gateway, followed by /api, without /v1"],
    ] as const)
      for (const operation of ["messages?beta=true", "messages/count_tokens"]) {
        const response = await plain.chat("{}", {}, `${base}/v1/${operation}`);
        const told = (await response.json()) as { readonly type: string; readonly error: Record<string, string> };
        expect([response.status, told.type, told.error["type"]]).toEqual([404, "error", "not_found_error"]);
        expect(told.error["message"]).toContain(right);
      }
  });

  test("[d9.7, d9.6] R11: an operation that is not served is answered with 404 and what the client can do", async () => {
    for (const base of ["/api/v1", "/v1", "/api"]) {
      const response = await plain.chat("{}", {}, `${base}/unheard-of`);
      expect([response.status, (await errorOf(response))["code"]]).toEqual([404, "operation_not_served"]);
      expect(response.headers.get("x-should-retry")).toBe("false");
    }
  });

  test("[d12.1, d12.6] what is not served of an API that is served is 501 in the form of that API", async () => {
    const upgrade = { connection: "Upgrade", upgrade: "websocket", authorization: `Bearer ${plain.token}` };
    for (const base of ["/api/v1", "/v1", "/api"]) {
      const responses = await Promise.all([
        plain.chat("{}", {}, `${base}/responses/compact`),
        plain.get(`${base}/conversations/conv_1`),
        fetch(`${plain.url}${base}/responses`, { headers: upgrade }),
      ]);
      for (const response of responses) {
        expect([response.status, response.headers.get("x-should-retry")]).toEqual([501, "false"]);
        expect(response.headers.get("x-gateway-trace-id")).toMatch(/^[0-9a-f]{32}$/);
        expect(Object.keys((await response.json()) as object)).toEqual(["error"]);
      }
      expect((await plain.chat("{}", {}, `${base}/images/generations`)).status).toBe(501);
    }
    const other = await plain.get("/api/v1/responses");
    expect([other.status, other.headers.get("allow"), Object.keys((await other.json()) as object)]).toEqual([
      405,
      "POST",
      ["error"],
    ]);
  });

  test("[d9.6 d12.1] what OpenAI's API has beside is 501 with what is served instead, and is not asked for again", async () => {
    const paths = [
      ["GET", "/chat/completions"],
      ["GET", "/chat/completions/chatcmpl-1"],
      ["POST", "/chat/completions/chatcmpl-1"],
      ["DELETE", "/chat/completions/chatcmpl-1"],
      ["GET", "/chat/completions/chatcmpl-1/messages"],
      ["POST", "/responses/compact"],
      ["POST", "/conversations"],
      ["GET", "/conversations/conv_1/items"],
      ["POST", "/batches"],
      ["POST", "/files"],
      ["GET", "/files/file-1/content"],
      ["POST", "/uploads"],
      ["POST", "/images/edits"],
      ["POST", "/audio/speech"],
      ["POST", "/audio/transcriptions"],
      ["POST", "/videos"],
      ["POST", "/realtime/client_secrets"],
      ["POST", "/assistants"],
      ["GET", "/assistants/asst_1"],
      ["POST", "/threads/thread_1/runs"],
      ["POST", "/vector_stores"],
      ["POST", "/containers"],
      ["POST", "/fine_tuning/jobs"],
      ["DELETE", "/files/file-1"],
      ["POST", "/evals"],
    ] as const;
    for (const base of ["/api/v1", "/v1", "/api"])
      for (const [method, path] of paths) {
        const response = await fetch(`${plain.url}${base}${path}`, {
          method,
          headers: { authorization: `Bearer ${plain.token}`, "content-type": "application/json" },
          ...(method === "POST" && { body: "{}" }),
        });
        const { error } = (await response.json()) as { readonly error: Record<string, unknown> };
        expect([base, path, response.status, response.headers.get("x-should-retry"), error["code"]]).toEqual([
          base,
          path,
          501,
          "false",
          "not_implemented",
        ]);
        expect(String(error["message"]).length).toBeGreaterThan(30);
      }
  });

  test("[d12.1] a request to change to WebSocket is 501 in the form of the operation, and names the way that there is", async () => {
    const headers = { connection: "Upgrade", upgrade: "websocket", authorization: `Bearer ${plain.token}` };
    for (const [path, keys] of [
      ["/v1/chat/completions", ["error", "x_gateway_trace_id"]],
      ["/v1/responses", ["error"]],
      ["/v1/messages", ["error", "request_id", "type"]],
      ["/v1/completions", ["error"]],
      ["/v1/embeddings", ["error"]],
      ["/v1/realtime", ["error", "x_gateway_trace_id"]],
    ] as const) {
      const response = await fetch(`${plain.url}${path}`, { headers });
      const text = await response.text();
      expect([path, response.status, response.headers.get("x-should-retry")]).toEqual([path, 501, "false"]);
      expect(Object.keys(JSON.parse(text) as object).toSorted()).toEqual([...keys]);
      expect(text).toContain("POST ");
    }
  });

  test("[d12.6] unknown paths beside an operation answer in its form, with code and trace id in headers", async () => {
    const bare = ["error"];
    for (const [path, keys, inner] of [
      ["/v1/messages/nothing/here", ["error", "request_id", "type"], ["message", "type"]],
      ["/api/v1/responses/nothing/here", bare, ["code", "message", "param", "type"]],
      ["/v1/embeddings/nothing", bare, ["code", "message", "param", "type"]],
      ["/api/moderations/nothing", bare, ["code", "message", "param", "type"]],
      ["/v1/rerank/nothing", ["id", "message"], []],
      ["/v2/rerank/nothing", ["id", "message"], []],
      ["/api/v1/chat/completions/nothing", ["error", "x_gateway_trace_id"], ["code", "message", "param", "type"]],
    ] as const)
      for (const method of ["GET", "POST"]) {
        const response = await fetch(plain.url + path, {
          method,
          headers: { authorization: `Bearer ${plain.token}`, "content-type": "application/json" },
          ...(method === "POST" && { body: "{}" }),
        });
        const sent = (await response.json()) as Record<string, object | undefined>;
        expect([404, 501]).toContain(response.status);
        expect([path, method, Object.keys(sent).toSorted()]).toEqual([path, method, [...keys]]);
        expect(Object.keys(sent["error"] ?? {}).toSorted()).toEqual([...inner]);
        expect(response.headers.get("x-gateway-trace-id")).toMatch(/^[0-9a-f]{32}$/);
      }
  });

  test("[d11.1] a record says which operation the request is for", async () => {
    const { records } = plain.stub;
    const before = records.length;
    expect((await plain.chat(ECHO)).status).toBe(200);
    expect((await plain.chat("{}", {}, "/api/v1/unheard-of")).status).toBe(404);
    expect((await plain.chat({ model: "sandbox:echo", input: "hi" }, {}, "/api/v1/responses")).status).toBe(200);
    expect(records.slice(before).map(({ operation }) => operation)).toEqual([
      "chat.completions",
      "unserved",
      "responses",
    ]);
  });

  test("[d9.6] an unknown path is answered with 404, and another method with 405 that names the right one, with the usual body", async () => {
    for (const [method, path, status, allow] of [
      ["PUT", "/api/v1/chat/completions", 405, "POST"],
      ["DELETE", "/v1/chat/completions/", 405, "POST"],
      ["POST", "/api/v1/models", 405, "GET"],
      ["POST", "/healthz", 405, "GET"],
      ["GET", "/", 404, null],
      ["POST", "/api/v2/chat/completions", 404, null],
      ["POST", "/chat/completion", 404, null],
      ["PUT", "/chat/completions", 405, "POST"],
      ["POST", "/health/liveliness", 405, "GET"],
    ] as const) {
      const response = await fetch(plain.url + path, { method });
      expect([method, path, response.status, response.headers.get("allow")]).toEqual([method, path, status, allow]);
      expect(typeof (await errorOf(response))["message"]).toBe("string");
    }
  });

  test("[d5.1] one call more than may be in flight is answered with 503 gateway_overloaded, and there is room again when one has ended", async () => {
    const small = serve({ limits: { maxConcurrentCalls: 2 } });
    const leaving = new AbortController();
    const stalled = [0, 1].map(() =>
      fetch(`${small.url}/api/v1/chat/completions`, {
        method: "POST",
        signal: leaving.signal,
        headers: { authorization: `Bearer ${small.token}`, "content-type": "application/json" },
        body: JSON.stringify({ ...ECHO, model: "sandbox:stall" }),
      }).catch(() => null),
    );
    const refused = await untilFound(async () => {
      const answer = await small.chat(ECHO);
      return answer.status !== 200 && answer;
    });
    expect([
      refused.status,
      (await errorOf(refused))["code"],
      refused.headers.get("retry-after"),
      refused.headers.get("x-should-retry"),
    ]).toEqual([503, "gateway_overloaded", "1", null]);
    leaving.abort();
    await Promise.all(stalled);
    await until(async () => (await small.chat(ECHO)).status === 200);
  });

  test("[s:versioning.2] api_version is the provider's, not the service's: it changes neither the path nor the answer", async () => {
    const served = serve(answering(openaiAnswer()));
    const response = await served.chat({ ...OPENAI, api_version: "2024-10-21" });
    expect([response.status, await body(response)]).toMatchObject([200, { object: "chat.completion" }]);
    expect((await served.chat({ ...OPENAI, api_version: "../v2" })).status).toBe(400);
  });
});
