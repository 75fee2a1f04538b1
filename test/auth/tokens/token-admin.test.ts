// Creating, rotating, revoking and listing tokens over a store in memory, with the messages for wrong requests.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { newAccessToken } from "../../../src/auth/tokens/access-token.ts";
import { bootstrap } from "../../../src/auth/first-identities.ts";
import type { TokenRequest } from "../../../src/auth/tokens/token-admin.ts";
import { shownToken } from "../../../src/http/admin/identity/token-shapes.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import type { Store } from "../../../src/store/store.ts";
import { peopledStore, thrownBy } from "../identities.ts";
import { createToken, revokeToken, rotateToken, writes } from "../../harness/store-writes.ts";

const NOW = Date.UTC(2026, 5, 1);
const DAY_MS = 86_400_000;
let store: Store;
beforeEach(async () => {
  store = await peopledStore();
});
afterEach(() => store.close());

const refusal = async (request: TokenRequest): Promise<string> =>
  (await thrownBy(() => createToken(store, request, NOW))).message;

describe("creating a token", () => {
  test("[d2.4] a restriction to models names providers, because it could match nothing otherwise", async () => {
    const asked = { name: "ci", projectId: "lab" };
    for (const model of ["gpt-*", "gpt-4o", "gpt*4"])
      expect(await refusal({ ...asked, models: [model] })).toBe(
        `"${model}" is invalid: a model of an access token is <provider>:<model_name>, with * for any text (*:<model_name> for any provider).`,
      );
    const models = ["openai:gpt-*", "*:gpt-*", "*", "*gpt-4o", "openai/gpt-4o", "o*:x"];
    expect((await createToken(store, { ...asked, models }, NOW)).record.models).toEqual(models);
  });
  test("a project token is of the project and its tenant, a developer's, without permissions", async () => {
    const { id, record } = await createToken(store, { name: "  ci  ", projectId: "lab" }, NOW);
    expect(record).toMatchObject({
      id,
      kind: "project",
      name: "ci",
      tenantId: "beta",
      projectId: "lab",
      userId: null,
      role: "developer",
      permissions: [],
      createdAtMs: NOW,
      revokedAtMs: null,
    });
    // who made it is nothing that a call needs
    const { createdBy, ...kept } = { createdBy: null, ...record };
    expect([createdBy, (await store.readIdentities()).tokens]).toEqual([null, [kept]]);
  });

  test("a personal token is of the user and has no project and no role of its own", async () => {
    const { record } = await createToken(
      store,
      { name: "ann's", personal: true, userId: "ann", permissions: ["debug", "byo_endpoint", "debug"] },
      NOW,
    );
    expect(record).toMatchObject({
      kind: "personal",
      tenantId: "acme",
      projectId: null,
      userId: "ann",
      role: null,
      permissions: ["byo_endpoint", "debug"],
    });
  });

  test("an unknown project or user is refused with the existing ones", async () => {
    expect(await refusal({ name: "x", projectId: "nope" })).toBe(
      'There is no project "nope". There are: app, lab, site.',
    );
    expect(await refusal({ name: "x" })).toBe("There is more than one project: name one. There are: app, lab, site.");
    expect(await refusal({ name: "x", personal: true, userId: "nobody" })).toBe(
      'There is no user "nobody". There are: ann, bob, zoe.',
    );
    expect(await refusal({ name: "x", projectId: "site", role: "boss" })).toBe(
      'Unknown role "boss". A project token\'s roles are: viewer, developer, maintainer.',
    );
    expect(await refusal({ name: "x", projectId: "site", permissions: ["debug", "fly"] })).toBe(
      'Unknown permission "fly". The permissions are: byo_endpoint, custom_price, debug, read_content, vendor_objects, ops.',
    );
    expect((await store.readIdentities()).tokens).toEqual([]);
  });

  test("a project token's role is at most maintainer", async () => {
    expect((await createToken(store, { name: "x", projectId: "site", role: "maintainer" }, NOW)).record.role).toBe(
      "maintainer",
    );
    for (const role of ["admin", "owner"])
      expect(await refusal({ name: "x", projectId: "site", role })).toContain("its highest role is maintainer");
  });

  test("a request that mixes the two kinds is refused, and so is a token without any use", async () => {
    expect(await refusal({ name: "x", projectId: "site", userId: "ann" })).toContain("has no user");
    expect(await refusal({ name: "x", personal: true, userId: "ann", projectId: "site" })).toContain(
      "A personal token has no project",
    );
    expect(await refusal({ name: "x", personal: true, userId: "ann", role: "maintainer" })).toContain(
      "The highest role of the user ann is developer",
    );
    expect(await refusal({ name: "x", personal: true, userId: "bob" })).toContain("bob has no role");
  });

  test("a name has 1 to 100 characters and is no token", async () => {
    const { text } = newAccessToken("project");
    for (const name of ["", "   ", "x".repeat(101), text])
      expect(await refusal({ name, projectId: "site" })).toContain("name of an access token");
    expect(await refusal({ name: text, projectId: "site" })).not.toContain(text.slice(20));
  });

  test("a lifetime is above 0 and at most a hundred years", async () => {
    for (const expiresInDays of [0, -1, Number.NaN, Infinity, 36_501])
      expect(await refusal({ name: "x", projectId: "site", expiresInDays })).toContain("above 0");
    expect(
      (await createToken(store, { name: "x", projectId: "site", expiresInDays: 0.5 }, NOW)).record.expiresAtMs,
    ).toBe(NOW + DAY_MS / 2);
  });

  test("the only project and the only user need no name, and before the first start there are none", async () => {
    const { store: fresh } = await openSqliteDatabase({ file: ":memory:" });
    await fresh.migrate();
    expect((await thrownBy(() => createToken(fresh, { name: "x" }, NOW))).message).toContain("There is no project yet");
    await bootstrap(fresh, NOW);
    expect((await createToken(fresh, { name: "x" }, NOW)).record.projectId).toBe("default");
    expect((await createToken(fresh, { name: "x", personal: true }, NOW)).record.userId).toBe("owner");
    expect((await thrownBy(() => createToken(fresh, { name: "x", projectId: "nope" }, NOW))).message).toBe(
      'There is no project "nope". There is: default.',
    );
    await fresh.close();
  });
});

describe("rotating and revoking", () => {
  test("the new secret lives as long as the token was created for, or as requested", async () => {
    const { id } = await createToken(store, { name: "x", projectId: "site", expiresInDays: 7 }, NOW);
    expect((await rotateToken(store, id, {}, NOW + DAY_MS)).record.expiresAtMs).toBe(NOW + 8 * DAY_MS);
    expect((await rotateToken(store, id, { expiresInDays: 20 }, NOW + DAY_MS)).record.expiresAtMs).toBe(
      NOW + 21 * DAY_MS,
    );
    expect((await rotateToken(store, id, {}, NOW + 2 * DAY_MS)).record.expiresAtMs).toBe(NOW + 22 * DAY_MS);
  });

  test("a later cap applies to the next rotation", async () => {
    const { id } = await createToken(store, { name: "x", projectId: "site" }, NOW);
    await writes(store).setTokenCaps("acme", { personalDays: null, projectDays: 10 });
    expect((await rotateToken(store, id, {}, NOW)).record.expiresAtMs).toBe(NOW + 10 * DAY_MS);
    expect((await thrownBy(() => rotateToken(store, id, { expiresInDays: 11 }, NOW))).message).toContain(
      "limits the lifetime",
    );
  });

  test("an old secret never outlives the end that it had", async () => {
    const { id } = await createToken(store, { name: "x", projectId: "site", expiresInDays: 1 }, NOW);
    const [old] = (await rotateToken(store, id, { overlapMs: 5 * DAY_MS }, NOW + DAY_MS - 1000)).record.secrets;
    expect(old?.retiresAtMs).toBe(NOW + DAY_MS);
    // Two hours later the first is gone, the second has its own overlap and the third is new.
    const { secrets } = (await rotateToken(store, id, { overlapMs: DAY_MS / 24 }, NOW + DAY_MS + 2 * 3_600_000)).record;
    expect(secrets.map((secret) => secret.retiresAtMs)).toEqual([NOW + DAY_MS + 3 * 3_600_000, null]);
  });

  test("a second rotation within the overlap does not lengthen the first one's", async () => {
    const { id } = await createToken(store, { name: "x", projectId: "site" }, NOW);
    await rotateToken(store, id, { overlapMs: DAY_MS }, NOW);
    const { secrets } = (await rotateToken(store, id, { overlapMs: 3 * DAY_MS }, NOW + 1000)).record;
    const ends = secrets.map((secret) => secret.retiresAtMs ?? Infinity).toSorted((a, b) => a - b);
    expect(ends).toEqual([NOW + DAY_MS, NOW + 1000 + 3 * DAY_MS, Infinity]);
  });

  test("an expired token is renewed by a rotation, and its old secret stays invalid", async () => {
    const { id } = await createToken(store, { name: "x", projectId: "site", expiresInDays: 1 }, NOW);
    const { record } = await rotateToken(store, id, {}, NOW + 2 * DAY_MS);
    expect(record.expiresAtMs).toBe(NOW + 3 * DAY_MS);
    expect(record.secrets.map((secret) => secret.retiresAtMs)).toEqual([null]);
  });

  test("a revoked token stays revoked", async () => {
    const { id } = await createToken(store, { name: "x", projectId: "site" }, NOW);
    expect((await revokeToken(store, id, NOW + 1)).revokedAtMs).toBe(NOW + 1);
    expect((await revokeToken(store, id, NOW + 2)).revokedAtMs).toBe(NOW + 1);
    const before = await store.readIdentities();
    expect((await thrownBy(() => rotateToken(store, id, {}, NOW + 3))).message).toContain("is revoked");
    expect(await store.readIdentities()).toEqual(before);
  });

  test("a whole token identifies itself; an unknown one is answered with the existing ones and is not repeated", async () => {
    const { id, text } = await createToken(store, { name: "ci", projectId: "site" }, NOW);
    expect((await rotateToken(store, text, {}, NOW)).id).toBe(id);
    const stranger = newAccessToken("project").text;
    for (const attempt of [
      (given: string) => revokeToken(store, given, NOW),
      (given: string) => rotateToken(store, given, {}, NOW),
    ]) {
      expect((await thrownBy(() => attempt("nope"))).message).toBe(
        `There is no access token with the id nope. There are: ${id} (ci).`,
      );
      for (const given of [stranger, stranger.slice(0, -1), stranger.slice(20)])
        expect((await thrownBy(() => attempt(given))).message).not.toContain(stranger.slice(25, 45));
    }
    expect((await revokeToken(store, text, NOW)).id).toBe(id);
  });
});

test("a list shows the newest first, their state, and neither secrets nor hashes", async () => {
  const first = await createToken(store, { name: "old", projectId: "site", expiresInDays: 1 }, NOW - 2 * DAY_MS);
  const second = await createToken(store, { name: "gone", projectId: "site" }, NOW - DAY_MS);
  const third = await createToken(store, { name: "new", projectId: "site" }, NOW);
  await revokeToken(store, second.id, NOW);
  const list = (await store.listTokens({ limit: 10 })).data.map((token) => shownToken(token, NOW));
  expect(list.map(({ name, state }) => [name, state])).toEqual([
    ["new", "live"],
    ["gone", "revoked"],
    ["old", "expired"],
  ]);
  const printed = JSON.stringify(list);
  for (const { text, record } of [first, second, third]) {
    expect(printed).not.toContain(text.slice(20));
    expect(printed).not.toContain(Buffer.from(record.secrets[0]!.sha256).toString("hex"));
  }
  expect(list[0]).not.toHaveProperty("secrets");
});
