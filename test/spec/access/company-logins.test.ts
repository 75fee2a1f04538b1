// Promises 2.2 and 2.7 for tokens of a company's login (OpenID Connect), through the whole gateway, against an issuer on this machine.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { exportSPKI, SignJWT, UnsecuredJWT } from "jose";
import type { GatewayError } from "../../../src/core/errors.ts";
import type { Membership } from "../../../src/core/identity.ts";
import { type LoginGrant, type LoginIssuer, loginKey } from "../../../src/core/configured/login.ts";
import type { Snapshot } from "../../../src/core/snapshot.ts";
import { openLogins } from "../../../src/auth/logins/logins.ts";
import { ofUser } from "../../../src/auth/identify.ts";
import { loggedInByIssuer, rightsOf, sessionToken } from "../../../src/auth/logins/console-sessions.ts";
import { actingToken, keptCaller } from "../../../src/auth/logins/kept-identity.ts";
import { membershipsOf } from "../../../src/auth/memberships.ts";
import { yieldToLoop } from "../../../src/core/concurrency/event-loop.ts";
import { createSocketUpstream } from "../../../src/wire/http/upstream-socket.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { type Issuer, startIssuer } from "../../harness/servers/issuer.ts";
import { turnedClock } from "../../harness/time/turned-clock.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { HELLO, readError } from "../chat-calls.ts";

const DEVELOPER: LoginGrant = {
  claim: "groups",
  value: "team-*",
  role: "developer",
  projectId: "default",
  permissions: [],
};
const NOW = Date.UTC(2026, 5, 1, 12);

let issuer: Issuer;
beforeEach(async () => {
  issuer = await startIssuer();
});
afterEach(() => issuer.stop());

const configured = (parts: Partial<LoginIssuer> = {}): LoginIssuer => ({
  name: "corp",
  issuer: issuer.url,
  audiences: ["gateway"],
  tenantId: "default",
  keysUrl: null,
  algorithms: ["RS256", "ES256"],
  subjectClaim: "sub",
  nameClaim: "email",
  clockToleranceMs: 30_000,
  keysRefreshMs: 600_000,
  grants: [DEVELOPER],
  ...parts,
});

interface Gateway extends Stub {
  readonly clock: ReturnType<typeof turnedClock>;
  /** What a call with this token comes to: `200`, or `<status> <code>`. */
  outcome(token: string, fields?: object): Promise<string>;
  message(token: string): Promise<string>;
}

function gatewayOf(
  parts: Partial<LoginIssuer> | readonly LoginIssuer[] = {},
  snapshot: Partial<Snapshot> = {},
): Gateway {
  const clock = turnedClock(NOW);
  const network = createSocketUpstream();
  const canned = cannedUpstream({ body: JSON.stringify(openaiAnswer()) });
  const upstream: UpstreamClient = {
    send: (request, call) => (request.url.startsWith(issuer.url) ? network : canned).send(request, call),
  };
  const projects = new Map(["default", "other"].map((id) => [id, { id, tenantId: "default", name: id }]));
  const stub = stubGateway({
    upstream,
    clock,
    snapshot: {
      projects,
      logins: Array.isArray(parts) ? (parts as readonly LoginIssuer[]) : [configured(parts as Partial<LoginIssuer>)],
      ...snapshot,
    },
  });
  const answer = async (
    token: string,
    fields: object = {},
  ): Promise<{ readonly outcome: string; readonly message: string }> => {
    const response = await stub.chat(
      { model: "openai:gpt-4o", messages: HELLO, ...fields },
      { headers: { authorization: `Bearer ${token}` } },
    );
    const text = await response.text();
    if (response.status === 200) return { outcome: "200", message: "" };
    const { code, message } = readError(response.status, response.headers, text);
    if (response.status === 401) expect(response.headers.get("www-authenticate")).toMatch(/^Bearer\b/);
    for (const part of token.split(".")) if (part.length > 16) expect(text).not.toContain(part);
    return { outcome: `${response.status} ${code}`, message };
  };
  return {
    ...stub,
    clock,
    outcome: async (token, fields) => (await answer(token, fields)).outcome,
    message: async (token) => (await answer(token)).message,
  };
}

const made = (
  claims: Readonly<Record<string, unknown>> = {},
  how: Parameters<Issuer["token"]>[1] = {},
): Promise<string> => issuer.token({ groups: ["team-search"], ...claims }, { nowMs: NOW, ...how });

describe("a company login", () => {
  test("[d2.2] is a personal token whose roles come from its claims", async () => {
    const gateway = gatewayOf();
    expect(await gateway.outcome(await made())).toBe("200");
    expect(gateway.records[0]).toMatchObject({
      tenantId: "default",
      projectId: "default",
      userId: "corp.ann",
      tokenId: "corp.ann",
    });
    expect(await gateway.outcome(await made(), { project_id: "other" })).toBe("403 scope_mismatch");
    expect(await gateway.outcome(await made({ groups: ["sales"] }))).toBe("403 insufficient_role");
    expect(await gateway.outcome(await made({ groups: "team-alone" }))).toBe("200");
    expect(await gateway.outcome(await made({ groups: undefined }))).toBe("403 insufficient_role");
  });

  test("[d2.2] with a role in more than one project has to name the project", async () => {
    const gateway = gatewayOf({
      grants: [DEVELOPER, { ...DEVELOPER, claim: "realm_access.roles", value: "x", projectId: "other" }],
    });
    const both = await made({ realm_access: { roles: ["w", "x"] } });
    expect(await gateway.outcome(both)).toBe("400 project_required");
    expect(await gateway.message(both)).toContain("default, other");
    expect(await gateway.outcome(both, { project_id: "other" })).toBe("200");
  });

  test("roles may come from the database too, for the user <name>.<sub>; the higher of the two counts", async () => {
    const role = (userId: string, one: Membership["role"]): readonly [string, readonly Membership[]] => [
      userId,
      [{ userId, tenantId: "default", projectId: "default", role: one }],
    ];
    const odd = "auth0|ann@example.com";
    const hashed = `corp._${Bun.SHA256.hash(odd, "base64url")}`;
    const gateway = gatewayOf(
      { grants: [{ ...DEVELOPER, role: "viewer" }] },
      {
        memberships: new Map([
          role("corp.ann", "developer"),
          role("corp.viewer", "viewer"),
          role(hashed, "developer"),
          role("ann", "owner"),
        ]),
      },
    );
    expect(await gateway.outcome(await made())).toBe("200");
    expect(await gateway.outcome(await made({ sub: "bob" }))).toBe("403 insufficient_role");
    expect(await gateway.outcome(await made({ sub: odd, groups: [] }))).toBe("200");
    expect(await gateway.outcome(await made({ sub: "carol", groups: [] }))).toBe("403 insufficient_role");
  });

  test("is the user that the database knows by issuer and subject, in the issuer's tenant alone", async () => {
    const user = (tenantId: string) =>
      new Map([[loginKey(tenantId, { issuer: issuer.url, subject: "ann" }), { id: "a.smith", tenantId, name: "Ann" }]]);
    const memberships = new Map([
      ["a.smith", [{ userId: "a.smith", tenantId: "default", projectId: "other", role: "developer" as const }]],
    ]);
    const gateway = gatewayOf({ grants: [] }, { loginUsers: user("default"), memberships });
    const token = await made();
    expect(await gateway.outcome(token)).toBe("200");
    expect(gateway.records[0]).toMatchObject({ projectId: "other", userId: "a.smith", tokenId: "corp.ann" });
    expect(await gateway.outcome(await made({ sub: "bob" }))).toBe("403 insufficient_role");
    expect(await gatewayOf({ grants: [] }, { loginUsers: user("beta"), memberships }).outcome(token)).toBe(
      "403 insufficient_role",
    );
  });

  test("[d14.2] that is kept ends with its own issuer, and not with another one of the same address", async () => {
    const [apps, staff] = [configured({ name: "apps", audiences: ["apps"] }), configured({ name: "staff" })];
    const token = await gatewayOf([apps, staff]).context.logins.identify(await made(), [apps, staff], NOW);
    expect(token.id).toBe("staff.ann");
    const kept = keptCaller(token, { logins: [apps, staff] })!;
    const acting = (logins: readonly LoginIssuer[]): string | null =>
      actingToken(kept, { tokens: new Map(), logins, loginUsers: new Map() }, NOW)?.id ?? null;
    expect([acting([apps, staff]), acting([staff]), acting([apps])]).toEqual(["staff.ann", "staff.ann", null]);
  });

  test("[d2.11] [d14.2] that is kept acts as no user to whom it is not linked any more, and its session ends", async () => {
    const corp = configured();
    const linkedTo = (id: string) =>
      new Map([[loginKey("default", { issuer: issuer.url, subject: "ann" }), { id, tenantId: "default", name: id }]]);
    const snapshotOf = (loginUsers: Snapshot["loginUsers"]) => ({
      tokens: new Map(),
      logins: [corp],
      loginUsers,
      operators: new Map<string, string>(),
      memberships: new Map([
        ["a.smith", [{ userId: "a.smith", tenantId: "default", projectId: null, role: "owner" as const }]],
      ]),
    });
    const before = snapshotOf(linkedTo("a.smith"));
    const verified = await gatewayOf([corp]).context.logins.identify(await made(), [corp], NOW);
    const token = ofUser(verified, before);
    const { way, identity } = loggedInByIssuer(token, corp, Infinity);
    const session = {
      id: "ses_1",
      secretHash: "",
      way,
      tenantId: "default",
      userId: token.userId,
      tokenId: null,
      identity,
      rights: rightsOf(token, before),
      address: null,
      browser: null,
      startedAtMs: NOW,
      seenAtMs: NOW,
      endsAtMs: NOW + 60_000,
    };
    const given = keptCaller(token, { logins: [corp] })!;
    const seen = (snapshot: typeof before) => {
      const acting = actingToken(given, snapshot, NOW)!;
      const roles = membershipsOf(acting, snapshot).map(({ role }) => role);
      return [acting.userId, roles, sessionToken(session, snapshot, NOW) !== null];
    };
    expect(seen(before)).toEqual(["a.smith", ["owner", "developer"], true]);
    expect(seen(snapshotOf(new Map()))).toEqual(["corp.ann", ["developer"], false]);
    expect(seen(snapshotOf(linkedTo("b.jones")))).toEqual(["b.jones", ["developer"], false]);
  });

  test("permissions are those to which its claims are mapped, and none without claims", async () => {
    const gateway = gatewayOf({
      grants: [
        DEVELOPER,
        { claim: "admin", value: "yes", role: "developer", projectId: "default", permissions: ["byo_endpoint"] },
      ],
    });
    expect(await gateway.outcome(await made(), { api_key: "sk-own" })).toBe("403 permission_required");
    expect(await gateway.outcome(await made({ admin: "yes" }), { api_key: "sk-own" })).toBe("200");
  });

  test("is verified once: later calls with it need no request to the issuer, and are answered at once", async () => {
    const gateway = gatewayOf();
    const token = await made();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => gateway.outcome(token)));
    expect(new Set(outcomes)).toEqual(new Set(["200"]));
    const { logins } = gateway.context;
    expect(logins.identify(token, gateway.context.snapshot().logins, NOW)).not.toBeInstanceOf(Promise);
    expect(issuer.asked).toEqual(["/.well-known/openid-configuration", "/keys"]);
  });

  test("the gateway's own tokens work beside it, and without a configuration a JWT is not accepted", async () => {
    const gateway = gatewayOf();
    expect((await gateway.chat({ model: "openai:gpt-4o", messages: HELLO })).status).toBe(200);
    expect(await gatewayOf([]).outcome(await made())).toBe("401 invalid_token");
    expect(issuer.asked).toEqual([]);
  });
});

describe("a refused login", () => {
  test("[d2.7] expired, not yet valid or without an expiry: 401, with a tolerance for clocks", async () => {
    const gateway = gatewayOf();
    const token = await made();
    const at = async (offsetS: number): Promise<string> => {
      gateway.clock.turnTo(NOW + offsetS * 1000);
      return gateway.outcome(token);
    };
    expect([await at(0), await at(329), await at(331)]).toEqual(["200", "200", "401 expired_token"]);
    gateway.clock.turnTo(NOW);
    expect(await gateway.outcome(await made({ exp: NOW / 1000 - 31 }))).toBe("401 expired_token");
    expect(await gateway.outcome(await made({ nbf: NOW / 1000 + 29 }))).toBe("200");
    expect(await gateway.outcome(await made({ nbf: NOW / 1000 + 60 }))).toBe("401 invalid_token");
    expect(await gateway.outcome(await made({ exp: undefined }))).toBe("401 invalid_token");
  });

  test("[d2.7] of another issuer, for another audience or without a subject: 401, before any key is fetched", async () => {
    const gateway = gatewayOf();
    for (const claims of [
      { iss: "https://elsewhere.example" },
      { iss: `${issuer.url}/` },
      { aud: "other" },
      { aud: ["a", "b"] },
      { aud: undefined },
      { aud: null },
      { aud: 5 },
      { aud: true },
      { aud: {} },
      { aud: { 0: "gateway" } },
      { aud: [["gateway"]] },
      { iss: undefined },
    ])
      expect([claims, await gateway.outcome(await made(claims))]).toEqual([claims, "401 invalid_token"]);
    expect(issuer.asked).toEqual([]);
    expect(await gateway.outcome(await made({ aud: ["other", "gateway"] }))).toBe("200");
    for (const sub of ["", undefined, 7]) expect(await gateway.outcome(await made({ sub }))).toBe("401 invalid_token");
  });

  test("[d14.2] an ID token opens the console only for the client to which it was issued", async () => {
    const { logins } = gatewayOf().context;
    const user = async (claims: object): Promise<string> =>
      await logins.identifyFor("console", await made({ aud: "console", ...claims }), configured(), NOW).then(
        ({ userId }) => userId!,
        (thrown: unknown) => (thrown as GatewayError).code,
      );
    expect(await user({})).toBe("corp.ann");
    expect(await user({ azp: "console" })).toBe("corp.ann");
    for (const claims of [
      { azp: "other" },
      { azp: "" },
      { azp: 1 },
      { aud: ["console", "api"], azp: "api" },
      { aud: "gateway" },
    ])
      expect([claims, await user(claims)]).toEqual([claims, "invalid_token"]);
  });

  test("[d2.7] unsigned, signed by another issuer, with another issuer's key, or with the public key as a secret: 401", async () => {
    await issuer.addKey("rsa", "RS256");
    await issuer.addKey("stranger");
    issuer.offer("one", "rsa");
    const gateway = gatewayOf();
    expect(await gateway.outcome(await made({}, { kid: "rsa" }))).toBe("200");
    const payload = { iss: issuer.url, aud: "gateway", sub: "ann", groups: ["team-x"], exp: NOW / 1000 + 300 };
    const asSecret = new TextEncoder().encode(await exportSPKI(issuer.publicKey("rsa")));
    const forged = [
      new UnsecuredJWT(payload).encode(),
      `${new UnsecuredJWT(payload).encode()}AAAA`,
      await new SignJWT(payload).setProtectedHeader({ alg: "HS256", kid: "rsa" }).sign(asSecret),
      await made({}, { kid: "one", sign: "stranger" }),
      await made({}, { kid: "rsa", sign: "one" }),
    ];
    const [head, body, signature] = (await made()).split(".") as [string, string, string];
    const changed = Buffer.from(JSON.stringify({ ...payload, sub: "owner" })).toString("base64url");
    forged.push(
      `${head}.${changed}.${signature}`,
      `${head}.${body}.${signature.slice(0, -4)}AAAA`,
      `${head}.${body}.`,
      `${head}.!!.${signature}`,
      `eyJhbGciOiJFUzI1NiJ9.bm8.${signature}`,
    );
    for (const token of forged) expect([token, await gateway.outcome(token)]).toEqual([token, "401 invalid_token"]);
  });

  test("with an algorithm that is not configured is refused, whichever key signed it", async () => {
    await issuer.addKey("big", "ES384");
    issuer.offer("one", "big");
    expect(await gatewayOf().outcome(await made({}, { kid: "big" }))).toBe("401 invalid_token");
    expect(await gatewayOf({ algorithms: ["ES384"] }).outcome(await made({}, { kid: "big" }))).toBe("200");
  });

  test("an issuer that is removed from the configuration is trusted no more, not even for tokens that were verified", async () => {
    const snapshot = { logins: [configured()] };
    const gateway = gatewayOf([], snapshot);
    const token = await made();
    expect(await gateway.outcome(token)).toBe("200");
    (gateway.context.snapshot() as { logins: readonly LoginIssuer[] }).logins = [
      configured({ name: "new", audiences: ["other"] }),
    ];
    expect(await gateway.outcome(token)).toBe("401 invalid_token");
  });
});

test("[d14.2] visitors who begin logins at the same time ask the issuer for its document once", async () => {
  const { logins } = gatewayOf().context;
  const corp = configured();
  const documents = await Promise.all(Array.from({ length: 20 }, () => logins.documentOf(corp)));
  expect(new Set(documents).size).toBe(1);
  expect(documents[0]!["issuer"]).toBe(issuer.url);
  expect(issuer.asked).toEqual(["/.well-known/openid-configuration"]);
  issuer.fail(500);
  const outcomes = await Promise.allSettled([logins.documentOf(corp), logins.documentOf(corp)]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(issuer.asked).toHaveLength(2);
  issuer.fail(null);
  expect((await logins.documentOf(corp))["issuer"]).toBe(issuer.url);
});

describe("the issuer's keys", () => {
  test("rotate: a token with a new key causes another fetch, and one whose key was removed is refused", async () => {
    const gateway = gatewayOf();
    const old = await made();
    expect(await gateway.outcome(old)).toBe("200");
    await issuer.addKey("two");
    issuer.offer("two");
    gateway.clock.turnTo(NOW + 31_000);
    expect(await gateway.outcome(await made({}, { kid: "two" }))).toBe("200");
    expect(issuer.asked.filter((path) => path === "/keys")).toHaveLength(2);
    expect(await gateway.outcome(old)).toBe("401 invalid_token");
  });

  test("[d2.7] a token is refused whose key was removed while the token was checked", async () => {
    const keysOf = async (): Promise<string> => (await fetch(`${issuer.url}/keys`)).text();
    let keys = await keysOf();
    const upstream = cannedUpstream(() => ({ headers: { "content-type": "application/json" }, body: keys }));
    const clock = turnedClock(NOW);
    const logins = openLogins({ upstream, clock, onFault: () => {} });
    const issuers = [configured({ keysUrl: `${issuer.url}/keys`, keysRefreshMs: 60_000 })];
    await logins.identify(await made(), issuers, NOW);
    await issuer.addKey("two");
    issuer.offer("two");
    keys = await keysOf();
    clock.turnTo(NOW + 61_000);
    // it is checked with the keys that are known, and they are fetched meanwhile
    const checked = await made({ jti: "2" });
    await logins.identify(checked, issuers, NOW);
    const again = Promise.try(() => logins.identify(checked, issuers, NOW)).catch((thrown: unknown) => thrown);
    expect(await again).toMatchObject({ code: "invalid_token" });
  });

  test("a flood of unknown keys sends the issuer at most one request every half minute", async () => {
    await issuer.addKey("stranger");
    const gateway = gatewayOf();
    expect(await gateway.outcome(await made())).toBe("200");
    const wrong = await made({}, { kid: "nobody", sign: "stranger" });
    for (let times = 0; times < 100; times++) expect(await gateway.outcome(wrong)).toBe("401 invalid_token");
    expect(issuer.asked.filter((path) => path === "/keys")).toHaveLength(1);
    gateway.clock.turnTo(NOW + 30_000);
    const many = await Promise.all(
      Array.from({ length: 50 }, async (_, index) =>
        gateway.outcome(await made({}, { kid: `kid-${index}`, sign: "stranger" })),
      ),
    );
    expect(new Set(many)).toEqual(new Set(["401 invalid_token"]));
    expect(issuer.asked.filter((path) => path === "/keys")).toHaveLength(2);
    expect(await gateway.outcome(await made())).toBe("200");
  });

  test("an unreachable issuer loses no known key, even when a fetch is due", async () => {
    const gateway = gatewayOf({ keysRefreshMs: 60_000 });
    expect(await gateway.outcome(await made())).toBe("200");
    issuer.fail(503);
    for (let minute = 1; minute <= 4; minute++) {
      gateway.clock.turnTo(NOW + minute * 61_000);
      // a call joins the fetch before it while that has not ended; the first one after that fetches again
      for (let call = 0; issuer.asked.length < 2 + minute; call++) {
        expect(await gateway.outcome(await made({ jti: `${minute}.${call}` }))).toBe("200");
        await yieldToLoop();
      }
    }
    expect(issuer.asked.length).toBe(6);
  });

  test("an unreachable issuer loses no known key where the configuration is read again, with the same address", async () => {
    const logins = openLogins({ upstream: createSocketUpstream(), clock: turnedClock(NOW), onFault: () => {} });
    const identified = async (id: string, parts: Partial<LoginIssuer> = {}): Promise<unknown> =>
      logins.identify(await made({ jti: id }), [configured(parts)], NOW);
    await identified("1");
    issuer.fail(503);
    expect(await identified("2")).toMatchObject({ kind: "personal" });
    expect(await identified("3", { grants: [] })).toMatchObject({ granted: [] });
    const elsewhere = identified("4", { keysUrl: `${issuer.url}/keys` });
    expect(await elsewhere.catch((thrown: unknown) => thrown)).toMatchObject({ code: "login_unavailable" });
  });

  test("[d2.7] a token that is being checked is not taken for one of an issuer that was removed meanwhile", async () => {
    const logins = openLogins({ upstream: createSocketUpstream(), clock: turnedClock(NOW), onFault: () => {} });
    const login = await made();
    const identified = (issuers: readonly LoginIssuer[]): Promise<unknown> =>
      Promise.try(() => logins.identify(login, issuers, NOW)).catch((thrown: unknown) => thrown);
    const [before, after] = [identified([configured()]), identified([configured({ audiences: ["another"] })])];
    expect(await before).toMatchObject({ kind: "personal" });
    expect(await after).toMatchObject({ code: "invalid_token" });
  });

  test("were never fetched: the answer is 503 login_unavailable, which may be retried, and the next successful fetch admits the login", async () => {
    issuer.fail(500);
    const gateway = gatewayOf();
    expect(await gateway.outcome(await made())).toBe("503 login_unavailable");
    expect(await gateway.outcome(await made())).toBe("503 login_unavailable");
    expect(issuer.asked).toHaveLength(1);
    issuer.fail(null);
    gateway.clock.turnTo(NOW + 30_000);
    expect(await gateway.outcome(await made())).toBe("200");
  });

  test("an issuer that cannot be reached is named in the log", async () => {
    const faults: string[] = [];
    const logins = openLogins({
      upstream: createSocketUpstream(),
      clock: turnedClock(NOW),
      onFault: (fault) => faults.push(fault),
    });
    const login = await made();
    issuer.stop();
    const asked = Promise.try(() => logins.identify(login, [configured()], NOW)).catch((thrown: unknown) => thrown);
    expect(await asked).toMatchObject({ code: "login_unavailable" });
    expect(faults).toEqual([
      `the keys of the issuer ${configured().name} could not be fetched: the issuer could not be reached (ECONNREFUSED)`,
    ]);
  });

  test("a discovery document of another issuer is not trusted", async () => {
    issuer.stop();
    issuer = await startIssuer({ claimedIssuer: "https://elsewhere.example" });
    expect(await gatewayOf().outcome(await made())).toBe("503 login_unavailable");
    expect(await gatewayOf({ keysUrl: `${issuer.url}/keys` }).outcome(await made())).toBe("200");
  });
});
