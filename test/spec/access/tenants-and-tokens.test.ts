// Chapter 2 of the promises (tenants, tokens, lifetimes, the first start) and the specification's Authentication,
// without a server: what http/ and the command line add (the 401's header, the printed curl command) is tested there.
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newAccessToken, newTokenText } from "../../../src/auth/tokens/access-token.ts";
import { authenticate } from "../../../src/auth/identify.ts";
import { authorize, type RequestedScope } from "../../../src/auth/authorize.ts";
import { givenFirstToken } from "../../../src/auth/tokens/given-token.ts";
import { bootstrap, makeOwner } from "../../../src/auth/first-identities.ts";
import { readEnvironment } from "../../../src/config/environment.ts";
import { CATALOGUE, GatewayError, type ErrorCode } from "../../../src/core/errors.ts";
import type { AccessToken, Principal } from "../../../src/core/identity.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import type { Store } from "../../../src/store/store.ts";
import { identityMaps, peopledStore, thrownBy } from "../../auth/identities.ts";
import { createToken, revokeToken, rotateToken, writes } from "../../harness/store-writes.ts";
import { until } from "../../harness/time/until.ts";

const NOW = Date.UTC(2026, 5, 1);
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const NOTHING: RequestedScope = { tenantId: null, projectId: null, needs: new Map() };

const folder = mkdtempSync(join(tmpdir(), "dragoman-tokens-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let store: Store;
beforeEach(async () => {
  store = await peopledStore();
});
afterEach(() => store.close());

/** One call's way in, over what the store holds now. */
async function enter(
  header: string | null,
  nowMs = NOW,
  scope: Partial<RequestedScope> = {},
  from = store,
): Promise<Principal> {
  const maps = identityMaps(await from.readIdentities());
  return authorize(authenticate(header, maps, nowMs), { ...NOTHING, ...scope }, maps);
}
const refusal = (...given: Parameters<typeof enter>) => thrownBy(() => enter(...given));
const codeOf = async (...given: Parameters<typeof enter>): Promise<string | undefined> =>
  (await refusal(...given)).code;

describe("the token's text", () => {
  test("[d2.5] is dgm_pt_<id>_<secret> for a project and dgm_ut_<id>_<secret> for a person, and one pattern finds both in a text", async () => {
    const project = await createToken(store, { name: "p", projectId: "site" }, NOW);
    const personal = await createToken(store, { name: "u", personal: true, userId: "ann" }, NOW);
    expect(project.text.startsWith(`dgm_pt_${project.id}_`)).toBe(true);
    expect(personal.text.startsWith(`dgm_ut_${personal.id}_`)).toBe(true);
    const leak = `curl -H "Authorization: Bearer ${project.text}"; export KEY=${personal.text}\n`;
    expect(leak.match(/\bdgm_[pu]t_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}\b/g)).toEqual([project.text, personal.text]);
  });

  test("[d2.5] ends in a checksum: one wrong character is refused without a look-up", async () => {
    const { text } = await createToken(store, { name: "p", projectId: "site" }, NOW);
    const blind = {
      tokens: {
        get: () => {
          throw new Error("looked up");
        },
      },
      tokensByHash: new Map(),
      memberships: new Map(),
    } as unknown as Parameters<typeof authenticate>[1];
    expect((await thrownBy(() => authenticate(`Bearer ${text}`, blind, NOW))).message).toBe("looked up");
    for (let at = 0; at < text.length; at++) {
      const mistyped = `${text.slice(0, at)}${text[at] === "x" ? "y" : "x"}${text.slice(at + 1)}`;
      expect((await thrownBy(() => authenticate(`Bearer ${mistyped}`, blind, NOW))).code).toBe("invalid_token");
    }
  });

  test("[d2.5] is stored nowhere: the store's files hold the id and the SHA-256, and no part of the secret", async () => {
    const place = mkdtempSync(join(folder, "files-"));
    const { store: onDisk } = await openSqliteDatabase({ file: join(place, "store.db") });
    await onDisk.migrate();
    const first = (await bootstrap(onDisk, NOW))!.token;
    const made = await createToken(onDisk, { name: "made" }, NOW);
    const rotated = await rotateToken(onDisk, made.id, {}, NOW);
    const bytes = readdirSync(place)
      .map((file) => readFileSync(join(place, file), "latin1"))
      .join("\n");
    for (const text of [first, made.text, rotated.text]) {
      expect(bytes).toContain(text.split("_")[2]!);
      expect(bytes).toContain(createHash("sha256").update(text).digest("hex"));
      const secret = text.slice(20);
      for (let at = 0; at + 8 <= secret.length; at++) expect(bytes).not.toContain(secret.slice(at, at + 8));
    }
    await onDisk.close();
  });
});

describe("a token's life", () => {
  test("[d2.6] is 90 days for a personal token and 365 for a project token, unless set", async () => {
    const personal = await createToken(store, { name: "u", personal: true, userId: "ann" }, NOW);
    const project = await createToken(store, { name: "p", projectId: "site" }, NOW);
    const short = await createToken(store, { name: "s", projectId: "site", expiresInDays: 3 }, NOW);
    for (const [{ text }, days] of [
      [personal, 90],
      [project, 365],
      [short, 3],
    ] as const) {
      expect((await enter(`Bearer ${text}`, NOW + days * DAY_MS - 1)).projectId).toBe("site");
      expect(await codeOf(`Bearer ${text}`, NOW + days * DAY_MS)).toBe("expired_token");
    }
  });

  test("[d2.6] may be capped by a tenant: longer ones are refused, and the default is shortened", async () => {
    await writes(store).setTokenCaps("acme", { personalDays: 30, projectDays: 60 });
    for (const [request, days] of [
      [{ name: "u", personal: true, userId: "ann" }, 30],
      [{ name: "p", projectId: "site" }, 60],
    ] as const) {
      expect((await createToken(store, request, NOW)).record.expiresAtMs).toBe(NOW + days * DAY_MS);
      expect((await createToken(store, { ...request, expiresInDays: days }, NOW)).record.expiresAtMs).toBe(
        NOW + days * DAY_MS,
      );
      expect(
        (await thrownBy(() => createToken(store, { ...request, expiresInDays: days + 1 }, NOW))).message,
      ).toContain(`${days} days`);
    }
    expect((await createToken(store, { name: "other tenant", projectId: "lab" }, NOW)).record.expiresAtMs).toBe(
      NOW + 365 * DAY_MS,
    );
  });

  test("[d2.6] after a rotation has a second valid secret, and the first is retired after 24 h", async () => {
    const old = await createToken(store, { name: "p", projectId: "site" }, NOW);
    const next = await rotateToken(store, old.id, {}, NOW);
    expect(next.id).toBe(old.id);
    for (const { text } of [old, next]) expect((await enter(`Bearer ${text}`, NOW + DAY_MS - 1)).tokenId).toBe(old.id);
    expect(await codeOf(`Bearer ${old.text}`, NOW + DAY_MS)).toBe("expired_token");
    expect((await enter(`Bearer ${next.text}`, NOW + DAY_MS)).tokenId).toBe(old.id);
  });

  test("[d2.6] overlaps in a rotation for a configurable time, of 30 minutes at least", async () => {
    const old = await createToken(store, { name: "p", projectId: "site" }, NOW);
    for (const overlapMs of [0, 30 * MINUTE_MS - 1, Number.NaN, Infinity])
      expect((await thrownBy(() => rotateToken(store, old.id, { overlapMs }, NOW))).message).toContain(
        "at least 30 minutes",
      );
    await rotateToken(store, old.id, { overlapMs: 30 * MINUTE_MS }, NOW);
    expect((await enter(`Bearer ${old.text}`, NOW + 30 * MINUTE_MS - 1)).tokenId).toBe(old.id);
    expect(await codeOf(`Bearer ${old.text}`, NOW + 30 * MINUTE_MS)).toBe("expired_token");
  });

  test("[d2.6] ends by a revocation in one process for another that asks the store", async () => {
    const file = join(folder, "shared.db");
    const [server, operator] = [(await openSqliteDatabase({ file })).store, (await openSqliteDatabase({ file })).store];
    await server.migrate();
    const { token } = (await bootstrap(server, NOW))!;
    const id = token.split("_")[2]!;
    expect((await enter(`Bearer ${token}`, NOW, {}, server)).tokenId).toBe(id);
    const known = await server.revision();
    await revokeToken(operator, id, NOW);
    await until(async () => (await server.revision()) !== known);
    expect(await codeOf(`Bearer ${token}`, NOW, {}, server)).toBe("revoked_token");
    await server.close();
    await operator.close();
  });
});

describe("refused tokens", () => {
  /** Every way to be refused, with the text that must not come back. */
  async function refusals(): Promise<readonly (readonly [code: ErrorCode, header: string | null, text: string])[]> {
    const project = await createToken(store, { name: "p", projectId: "site" }, NOW);
    const short = await createToken(store, { name: "s", projectId: "site", expiresInDays: 1 }, NOW - 2 * DAY_MS);
    const revoked = await createToken(store, { name: "r", projectId: "site" }, NOW);
    await revokeToken(store, revoked.id, NOW);
    const stranger = newAccessToken("project").text;
    const forged = newTokenText("project", project.id).text;
    return [
      ["missing_token", null, "-"],
      ["missing_token", "", "-"],
      ["missing_token", "Bearer ", "-"],
      ["invalid_token", `Bearer ${project.text.slice(0, -1)}`, project.text.slice(0, -1)],
      ["invalid_token", "Bearer sk-proj-0123456789abcdefghijklmnop", "sk-proj-0123456789abcdefghijklmnop"],
      ["invalid_token", project.text, project.text],
      ["invalid_token", `Basic ${btoa(`me:${project.text}`)}`, btoa(`me:${project.text}`)],
      ["invalid_token", `Bearer ${project.text}, Bearer ${project.text}`, project.text],
      ["invalid_token", `Bearer ${stranger}`, stranger],
      ["invalid_token", `Bearer ${forged}`, forged],
      ["expired_token", `Bearer ${short.text}`, short.text],
      ["revoked_token", `Bearer ${revoked.text}`, revoked.text],
    ];
  }

  test("[d2.7] a missing, malformed, unknown, expired or revoked token is answered with 401 and its own code", async () => {
    for (const [code, header] of await refusals()) {
      const error = await refusal(header);
      expect(error).toBeInstanceOf(GatewayError);
      expect([header, error.code]).toEqual([header, code]);
      expect((error as GatewayError).entry).toMatchObject({ status: 401, source: "client", retry: false });
    }
  });

  test("[d2.7] the error repeats nothing of the token", async () => {
    for (const [, header, text] of await refusals()) {
      const { message, param, metadata, headers, detail, cause } = (await refusal(header)) as GatewayError;
      const said = JSON.stringify({ message, param, metadata, headers, detail, cause });
      const secret = text.startsWith("dgm_") ? text.slice(20) : text;
      for (let at = 0; at + 8 <= secret.length; at++) expect(said).not.toContain(secret.slice(at, at + 8));
    }
  });

  test("[d2.7] a removed user's personal tokens end with the membership, and stay invalid", async () => {
    const { text } = await createToken(store, { name: "u", personal: true, userId: "ann" }, NOW);
    expect((await enter(`Bearer ${text}`)).userId).toBe("ann");
    await writes(store).removeMembership("ann", "site");
    expect(await codeOf(`Bearer ${text}`)).toBe("revoked_token");
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: "site", role: "owner" });
    expect(await codeOf(`Bearer ${text}`)).toBe("revoked_token");
    const again = await createToken(store, { name: "u", personal: true, userId: "ann" }, NOW);
    await writes(store).removeUser("ann");
    expect(await codeOf(`Bearer ${again.text}`)).toBe("invalid_token");
  });
});

describe("the first start", () => {
  const fresh = async (): Promise<Store> => {
    const { store: empty } = await openSqliteDatabase({ file: ":memory:" });
    await empty.migrate();
    return empty;
  };

  test("[d2.8] creates tenant and project `default`, an owner and one project token that works", async () => {
    const empty = await fresh();
    const { token } = (await bootstrap(empty, NOW))!;
    const { tenants, projects, users, memberships, tokens } = await empty.readIdentities();
    expect(tenants.map((tenant) => tenant.id)).toEqual(["default"]);
    expect(projects).toMatchObject([{ id: "default", tenantId: "default" }]);
    expect(users).toMatchObject([{ id: "owner", tenantId: "default" }]);
    expect(memberships).toEqual([{ userId: "owner", tenantId: "default", projectId: null, role: "owner" }]);
    expect(tokens.map((one) => [one.kind, one.projectId, one.role, one.permissions])).toEqual([
      ["project", "default", "developer", []],
    ]);
    expect(await enter(`Bearer ${token}`, NOW, {}, empty)).toMatchObject({
      tenantId: "default",
      projectId: "default",
      role: "developer",
    });
    await empty.close();
  });

  test("[d2.8] makes the token whose text the operator gives, and shows none; another text is refused with the cure, and never repeated", async () => {
    const { text } = newAccessToken("project");
    const file = join(folder, "first-token");
    writeFileSync(file, `${text}\n`);
    for (const variables of [{ DRAGOMAN_FIRST_TOKEN: text }, { DRAGOMAN_FIRST_TOKEN_FILE: file }]) {
      const empty = await fresh();
      const given = givenFirstToken(readEnvironment(variables));
      expect(await bootstrap(empty, NOW, given)).toEqual({ token: null });
      expect(await enter(`Bearer ${text}`, NOW, {}, empty)).toMatchObject({ projectId: "default", role: "developer" });
      expect(await bootstrap(empty, NOW, given)).toBeNull();
      await empty.close();
    }
    expect(givenFirstToken(readEnvironment({}))).toBeNull();

    const personal = newAccessToken("personal").text;
    const mistyped = `${text.slice(0, -1)}${text.endsWith("x") ? "y" : "x"}`;
    writeFileSync(file, mistyped);
    for (const variables of [
      { DRAGOMAN_FIRST_TOKEN: mistyped },
      { DRAGOMAN_FIRST_TOKEN: "my-secret-of-choice" },
      { DRAGOMAN_FIRST_TOKEN: personal },
      { DRAGOMAN_FIRST_TOKEN_FILE: file },
    ]) {
      const { message } = await thrownBy(() => givenFirstToken(readEnvironment(variables)));
      expect(message).toContain("dragoman token text");
      for (const secret of [mistyped, personal, "my-secret-of-choice"]) expect(message).not.toContain(secret);
    }
    for (const variables of [
      { DRAGOMAN_FIRST_TOKEN: text, DRAGOMAN_FIRST_TOKEN_FILE: file },
      { DRAGOMAN_FIRST_TOKEN_FILE: join(folder, "nowhere") },
    ])
      expect((await thrownBy(() => givenFirstToken(readEnvironment(variables)))).message).toContain("DRAGOMAN_FIRST");
  });

  test("[d2.8] shows the token once: a second start creates and shows nothing, and of several starts at once one does", async () => {
    const empty = await fresh();
    const started = await Promise.all(Array.from({ length: 4 }, () => bootstrap(empty, NOW)));
    expect(started.filter((one) => one !== null)).toHaveLength(1);
    expect(await bootstrap(empty, NOW + DAY_MS)).toBeNull();
    expect((await empty.readIdentities()).tokens).toHaveLength(1);
    await empty.close();
  });

  test("[d2.8] creates the missing token where the command line created the rest, once, and not where there ever was one", async () => {
    const empty = await fresh();
    expect([await makeOwner(empty), await makeOwner(empty)]).toEqual([true, false]);
    expect((await empty.readIdentities()).tokens).toEqual([]);
    const { token } = (await bootstrap(empty, NOW))!;
    expect(await enter(`Bearer ${token}`, NOW, {}, empty)).toMatchObject({ projectId: "default" });
    await revokeToken(empty, token.split("_")[2]!, NOW);
    expect([await bootstrap(empty, NOW), await makeOwner(empty)]).toEqual([null, false]);
    await writes(empty).removeProject("default");
    await writes(empty).createProject({ id: "other", tenantId: "default", name: "Other" });
    expect(await bootstrap(empty, NOW)).toBeNull();
    await empty.close();
  });

  test("[d2.8] changes nothing in a store with a tenant", async () => {
    const before = await store.readIdentities();
    expect(await bootstrap(store, NOW)).toBeNull();
    expect(await store.readIdentities()).toEqual(before);
  });
});

describe("authentication", () => {
  let project: AccessToken & { readonly header: string };
  let personal: AccessToken & { readonly header: string };
  beforeEach(async () => {
    const made = await createToken(store, { name: "p", projectId: "site" }, NOW);
    const own = await createToken(store, { name: "u", personal: true, userId: "ann" }, NOW);
    project = { ...made.record, header: `Bearer ${made.text}` };
    personal = { ...own.record, header: `Bearer ${own.text}` };
  });

  test("[s:authentication.1] a request carries the header `Authorization: Bearer <token>`", async () => {
    expect((await enter(project.header)).tokenId).toBe(project.id);
    expect(await codeOf(null)).toBe("missing_token");
    expect(await codeOf(project.header.replace("Bearer ", ""))).toBe("invalid_token");
  });

  test("[s:authentication.2] the token is a project token or a personal token", async () => {
    expect(await enter(project.header)).toMatchObject({ tokenKind: "project", tokenId: project.id, userId: null });
    expect(await enter(personal.header)).toMatchObject({ tokenKind: "personal", tokenId: personal.id, userId: "ann" });
  });

  test("[s:authentication.3] tenant_id and project_id scope a request: the token's own are accepted, any other is refused", async () => {
    for (const { header } of [project, personal]) {
      expect(await enter(header, NOW, { tenantId: "acme", projectId: "site" })).toMatchObject({
        tenantId: "acme",
        projectId: "site",
      });
      for (const scope of [
        { tenantId: "beta" },
        { projectId: "app" },
        { projectId: "lab" },
        { projectId: "unknown" },
        { tenantId: "beta", projectId: "lab" },
      ]) {
        const error = await refusal(header, NOW, scope);
        expect(error.code).toBe("scope_mismatch");
        expect((error as GatewayError).entry.status).toBe(403);
      }
    }
    await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: "app", role: "developer" });
    expect((await enter(personal.header, NOW, { projectId: "app" })).projectId).toBe("app");
    expect(await codeOf(personal.header)).toBe("project_required");
  });

  test("[s:authentication.4] an invalid or expired token is answered with 401", async () => {
    const status = async (...given: Parameters<typeof enter>): Promise<number> =>
      CATALOGUE[(await codeOf(...given)) as ErrorCode].status;
    expect(await status(`Bearer ${newAccessToken("project").text}`)).toBe(401);
    expect(await status(project.header, project.expiresAtMs)).toBe(401);
    expect(await status(personal.header, personal.expiresAtMs)).toBe(401);
  });
});
