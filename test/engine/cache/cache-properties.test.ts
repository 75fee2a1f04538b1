// Random pairs of requests by random callers (promise 13.4): two requests share an answer exactly when everything that
// reaches the provider is the same, in a tenant and among those who share. What reaches the provider is taken from a
// gateway without a cache, so that the test knows nothing of keys.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newAccessToken } from "../../../src/auth/tokens/access-token.ts";
import { openMemoryCache } from "../../../src/cache/memory.ts";
import { CACHE_SCOPES, type CacheScope } from "../../../src/core/configured/cache.ts";
import { type AccessToken, UNRESTRICTED } from "../../../src/core/identity.ts";
import type { ProviderSettings } from "../../../src/core/snapshot.ts";
import type { UpstreamClient, UpstreamRequest } from "../../../src/wire/upstream.ts";
import { cachedGateway, type Cached, MASTER_KEY } from "../../harness/cached.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { policiesFor } from "../../policies/policy-documents.ts";

interface Caller {
  readonly tenant: string;
  readonly project: string;
  readonly user: string | null;
  readonly token: AccessToken;
  readonly authorization: string;
}

function caller(tenant: string, project: string, user: string | null): Caller {
  const { id, text, sha256 } = newAccessToken(user === null ? "project" : "personal");
  const token: AccessToken = {
    id,
    kind: user === null ? "project" : "personal",
    name: "t",
    tenantId: tenant,
    projectId: user === null ? project : null,
    userId: user,
    role: user === null ? "developer" : null,
    permissions: ["byo_endpoint"],
    ...UNRESTRICTED,
    secrets: [{ sha256, retiresAtMs: null }],
    createdAtMs: 0,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
    revokedAtMs: null,
  };
  return { tenant, project, user, token, authorization: `Bearer ${text}` };
}

/** Two tenants; ann has two tokens and works in two projects. */
const CALLERS: readonly Caller[] = [
  caller("acme", "site", null),
  caller("acme", "site", null),
  caller("acme", "app", null),
  caller("acme", "site", "ann"),
  caller("acme", "site", "ann"),
  caller("acme", "app", "ann"),
  caller("acme", "site", "bob"),
  caller("beta", "lab", null),
  caller("beta", "lab", "zoe"),
];
const PROJECTS = [
  ["site", "acme"],
  ["app", "acme"],
  ["lab", "beta"],
] as const;
const NO_SETTINGS = { dropParams: true, disableStopSequenceLimit: null };

/** Providers of three forms; beta has a provider of its own that is called like one of all. */
const provider = (id: string, family: string, key: string, baseUrl: string): ProviderSettings =>
  providerSettings({ id, family, baseUrl, credentials: [storedKey(key)] });
const ALL = [
  provider("one", "custom", "key-one", "http://one.test/v1"),
  provider("two", "custom", "key-one", "http://two.test/v1"),
  provider("three", "custom", "key-three", "http://one.test/v1"),
  provider("claude", "anthropic", "key-claude", "https://claude.test"),
];
const OF_BETA = [
  provider("two", "custom", "key-of-beta", "http://two.test/v1"),
  ...ALL.filter(({ id }) => id !== "two"),
];
/** The project app calls one provider with another key. */
const OF_APP = [provider("one", "custom", "key-of-app", "http://one.test/v1"), ...ALL.filter(({ id }) => id !== "one")];
const byId = (all: readonly ProviderSettings[]): ReadonlyMap<string, ProviderSettings> =>
  new Map(all.map((one) => [one.id, one]));

/** Each answer names the request that it answers. */
function countingUpstream(): UpstreamClient {
  let count = 0;
  return cannedUpstream((request) => answerTo(request, `answer ${++count} `));
}

function answerTo({ url, body }: UpstreamRequest, said: string) {
  const isStream = body.includes('"stream":true');
  if (url.includes("claude"))
    return isStream
      ? { headers: EVENTS, body: claudeStream(said) }
      : {
          headers: JSON_TYPE,
          body: JSON.stringify({
            id: "msg_1",
            type: "message",
            role: "assistant",
            model: "m",
            content: [{ type: "text", text: said }],
            stop_reason: "end_turn",
            usage: { input_tokens: 3, output_tokens: 2 },
          }),
        };
  const choice = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  return isStream
    ? { headers: EVENTS, body: `${choice({ content: said }, null)}${choice({}, "stop")}data: [DONE]\n\n` }
    : {
        headers: JSON_TYPE,
        body: JSON.stringify({
          id: "c",
          choices: [{ index: 0, message: { role: "assistant", content: said }, finish_reason: "stop" }],
          usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
        }),
      };
}
const EVENTS = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };

function claudeStream(said: string): string {
  return [
    { type: "message_start", message: { id: "msg_1", model: "m", usage: { input_tokens: 3, output_tokens: 0 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: said } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}

/** Without `widest` nothing is cached. */
function gatewayOf(widest: CacheScope | null): Cached {
  return cachedGateway({
    upstream: countingUpstream(),
    store: openMemoryCache(10_000_000),
    providers: ALL,
    snapshot: {
      tokens: new Map(CALLERS.map(({ token }) => [token.id, token])),
      projects: new Map(PROJECTS.map(([id, tenantId]) => [id, { id, tenantId, name: id }])),
      memberships: new Map(
        CALLERS.flatMap(({ user, tenant }) =>
          user === null ? [] : [[user, [{ userId: user, tenantId: tenant, projectId: null, role: "developer" }]]],
        ),
      ),
      tenantProviders: new Map([["beta", byId(OF_BETA)]]),
      projectProviders: new Map([["app", byId(OF_APP)]]),
      tenantSettings: new Map(["acme", "beta"].map((id) => [id, { ...NO_SETTINGS, cacheAllowed: widest !== null }])),
      projectSettings: new Map(
        widest === null
          ? []
          : PROJECTS.map(([id]) => [id, { ...NO_SETTINGS, cache: { ttlMs: 60_000, scope: widest } }]),
      ),
      settings: NO_SETTINGS,
      policies: policiesFor({ name: "mask", guard: { on: "input", action: "mask", classes: ["email"] } }),
    },
  });
}

interface Asked {
  readonly caller: Caller;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
  /** The scope that the request asks for. */
  readonly scope: CacheScope | null;
}

interface Reply {
  readonly cache: string | null;
  /** Which answer it is; `null` for an error. */
  readonly answer: string | null;
}

async function ask(gateway: Cached, { caller: by, body, headers, scope }: Asked, isCached = true): Promise<Reply> {
  const response = await gateway.chat(isCached && scope !== null ? { ...body, cache: { scope } } : body, {
    headers: { ...headers, authorization: by.authorization, "x-gateway-project-id": by.project },
  });
  const text = await response.text();
  return { cache: response.headers.get("x-gateway-cache"), answer: /answer \d+ /.exec(text)?.[0] ?? null };
}

/** What reaches the provider, as text; `null` when nothing does. */
async function sentBy(asked: Asked): Promise<string | null> {
  const gateway = gatewayOf(null);
  await ask(gateway, asked, false);
  if (gateway.sent.length === 0) return null;
  return JSON.stringify(gateway.sent.map(({ method, url, headers, body }) => [method, url, headers, body]));
}

function sharersOf(scope: CacheScope, { tenant, project, user, token }: Caller): string {
  if (scope === "tenant") return `tenant ${tenant}`;
  if (scope === "project") return `project ${project}`;
  return scope === "user" && user !== null ? `user ${user}` : `token ${token.id}`;
}

/** Fields that a second request may have otherwise, most of which reach the provider and some of which do not. */
const FIELD = fc.oneof(
  fc.constantFrom("one:m", "two:m", "three:m", "one:m2", "claude:m").map((model) => ({ model })),
  fc
    .constantFrom(
      "Hello",
      "Hello ",
      "hello",
      "H\u00e9",
      "He\u0301",
      "\ud800",
      "\ud801",
      "\u0000",
      "write ada@mail.example.org",
      "write bob@mail.example.org",
    )
    .map((content) => ({ messages: [{ role: "user", content }] })),
  fc.constantFrom("system", "developer").map((role) => ({
    messages: [
      { role, content: "Be short." },
      { role: "user", content: "Hello" },
    ],
  })),
  fc.constantFrom(
    {
      messages: [
        { role: "user", content: "Hel" },
        { role: "user", content: "lo" },
      ],
    },
    { messages: [{ role: "user", content: "Hello", name: "ada" }] },
  ),
  fc.constantFrom(0, 0.5, 0.50001, 1, null).map((temperature) => ({ temperature })),
  fc.constantFrom(0.9, 1).map((top_p) => ({ top_p })),
  fc.constantFrom(1, 2, 12_345_678_901).map((seed) => ({ seed })),
  fc.constantFrom("x", ["x"], ["x", "y"]).map((stop) => ({ stop })),
  fc.constantFrom(5, 6).map((max_tokens) => ({ max_tokens })),
  fc.constantFrom(5, 6).map((max_completion_tokens) => ({ max_completion_tokens })),
  fc.constantFrom(true, false).map((stream) => ({ stream })),
  fc.constantFrom("ada", "bob").map((user) => ({ user })),
  fc.constantFrom({ a: 1 }, { a: 2 }).map((metadata) => ({ metadata })),
  fc.constantFrom(10, 20).map((timeout) => ({ timeout })),
  fc.constantFrom("1", "2").map((value) => ({ extra_headers: { "x-mine": value } })),
  fc.constantFrom("1", "2").map((value) => ({ headers: { "x-mine": value } })),
  fc.constantFrom(1, 2).map((own_knob) => ({ own_knob })),
  fc.constantFrom({ type: "json_object" }, { type: "text" }).map((response_format) => ({ response_format })),
  fc
    .constantFrom("a", "b")
    .map((name) => ({ tools: [{ type: "function", function: { name, parameters: { type: "object" } } }] })),
  fc.constantFrom(true, false).map((drop_params) => ({ drop_params })),
);

interface Draw {
  readonly fields: readonly object[];
  readonly caller: number;
  readonly scope: CacheScope | null;
  readonly beta: string | null;
}

const DRAW = fc.record({
  fields: fc.array(FIELD, { maxLength: 3 }),
  caller: fc.nat(CALLERS.length - 1),
  scope: fc.option(fc.constantFrom(...CACHE_SCOPES), { freq: 3 }),
  beta: fc.option(fc.constantFrom("b1", "b2"), { freq: 4 }),
});

const SOME_CHANGE = fc.record(
  {
    fields: fc.array(FIELD, { maxLength: 2 }),
    caller: fc.nat(CALLERS.length - 1),
    scope: DRAW.map(({ scope }) => scope),
    beta: fc.constantFrom(null, "b1", "b2"),
  },
  { requiredKeys: [] },
);

/** A second request that differs from the first in nothing, or in a few things. */
const CHANGE = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Partial<Draw>>({}) },
  { weight: 3, arbitrary: SOME_CHANGE },
);

function askedOf({ fields, caller: at, scope, beta }: Draw): Asked {
  const body = Object.assign({ model: "one:m", messages: [{ role: "user", content: "Hello" }] }, ...fields) as object;
  return {
    caller: CALLERS[at]!,
    body,
    headers: beta === null ? {} : { "anthropic-beta": beta },
    scope,
  };
}

describe("random pairs of requests", () => {
  test("[d13.4] share an answer exactly when all that reaches the provider, and those who share, are the same", async () => {
    let hits = 0;
    let misses = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...CACHE_SCOPES), DRAW, CHANGE, async (widest, first, change) => {
        const second: Draw = { ...first, ...change, fields: [...first.fields, ...(change.fields ?? [])] };
        const [a, b] = [askedOf(first), askedOf(second)];
        const gateway = gatewayOf(widest);
        const one = await ask(gateway, a);
        const two = await ask(gateway, b);
        if (one.answer === null || two.answer === null) return;
        const effective = (asked: Asked): CacheScope => asked.scope ?? widest;
        const isSame =
          a.caller.tenant === b.caller.tenant &&
          sharersOf(effective(a), a.caller) === sharersOf(effective(b), b.caller) &&
          (await sentBy(a)) === (await sentBy(b));
        expect({ cache: two.cache, isShared: one.answer === two.answer }).toEqual({
          cache: isSame ? "hit" : "miss",
          isShared: isSame,
        });
        expect(gateway.sent).toHaveLength(isSame ? 1 : 2);
        if (isSame) hits += 1;
        else misses += 1;
      }),
      { numRuns: drawCount(400, 20_000) },
    );
    // a test in which nothing is ever shared, or everything is, would prove nothing
    expect(hits).toBeGreaterThan(drawCount(400, 20_000) / 20);
    expect(misses).toBeGreaterThan(drawCount(400, 20_000) / 5);
  }, 600_000);

  test("[d13.4] of many calls at once, none gets an answer to what another one asked", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...CACHE_SCOPES),
        fc.array(DRAW, { minLength: 2, maxLength: 4 }),
        fc.array(fc.nat(3), { minLength: 4, maxLength: 12 }),
        async (widest, draws, order) => {
          const gateway = gatewayOf(widest);
          const asked = order.map((at) => askedOf(draws[at % draws.length]!));
          const replies = await Promise.all(asked.map((each) => ask(gateway, each)));
          const owners = new Map<string, string>();
          for (const [index, { answer }] of replies.entries()) {
            if (answer === null) continue;
            const each = asked[index]!;
            const whose = `${each.caller.tenant} ${sharersOf(each.scope ?? widest, each.caller)} ${await sentBy(each)}`;
            expect(owners.get(answer) ?? whose).toBe(whose);
            owners.set(answer, whose);
          }
          // equal calls at once are one request
          expect(gateway.sent).toHaveLength(new Set(owners.values()).size);
        },
      ),
      { numRuns: drawCount(60, 2000) },
    );
  }, 600_000);

  test("[d13.4] a key depends on the master key, and in a process that runs on the one that was added", async () => {
    const { cacheSecrets } = await import("../../../src/cache/cache-secrets.ts");
    const address = (key: Uint8Array): string => cacheSecrets(() => [key]).addressOf("circumstances", "body");
    expect(address(MASTER_KEY)).toBe(address(MASTER_KEY));
    expect(address(new Uint8Array(32).fill(8))).not.toBe(address(MASTER_KEY));
    const split = (circumstances: string, body: string): string =>
      cacheSecrets(() => [MASTER_KEY]).addressOf(circumstances, body);
    expect(split("ab", "c")).not.toBe(split("a", "bc"));
    const later = new Uint8Array(32).fill(8);
    let keys = [MASTER_KEY];
    const running = cacheSecrets(() => keys);
    expect(running.addressOf("circumstances", "body")).toBe(address(MASTER_KEY));
    keys = [later, MASTER_KEY];
    expect(running.addressOf("circumstances", "body")).toBe(address(later));
  });
});
