// What every store does with changes over the admin API: versions for ETags, pages, audit rows, versions that can be
// restored, secrets, repeated requests.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openSecretCipher } from "../../../src/config/secret-cipher.ts";
import type { Clock } from "../../../src/core/clock.ts";
import type { Contents } from "../../../src/store/configuration/contents.ts";
import type { Page, PageRequest } from "../../../src/store/reader.ts";
import { type Actor, LOCAL_ACTOR, type StoredToken } from "../../../src/store/records.ts";
import type { Store } from "../../../src/store/store.ts";
import { writes } from "../../harness/store-writes.ts";
import type { StorePlace } from "./store.suite.ts";
import { storedSample } from "../../harness/sample-tokens.ts";

const KEY = new Uint8Array(32).fill(7);
const ANN: Actor = { tokenId: "AAAAAAAAAAAA", userId: "ann", role: "admin", tenantId: "acme", address: "10.1.2.3" };
const SECRET = "sk-very-secret-of-acme";

export function storeChangesSuite(name: string, newPlace: () => Promise<StorePlace>): void {
  describe(`changes of the store in ${name}`, () => {
    let place: StorePlace;
    let store: Store;
    let nowMs = 0;
    const clock: Clock = { now: () => nowMs, monotonic: () => performance.now() };
    const stores: Store[] = [];
    const open = async (keys: readonly Uint8Array[] = [KEY]): Promise<Store> => {
      const opened = await place.open({ cipher: openSecretCipher(keys), clock });
      stores.push(opened);
      await opened.migrate();
      return opened;
    };
    beforeEach(async () => {
      nowMs = 1_700_000_000_000;
      place = await newPlace();
      store = await open();
      await store.change(LOCAL_ACTOR, async (writer) => {
        for (const id of ["acme", "beta"]) await writer.createTenant({ id, name: id });
        for (const id of ["site", "app"]) await writer.createProject({ id, tenantId: "acme", name: id });
        await writer.createUser({
          id: "ann",
          tenantId: "acme",
          name: "Ann",
          email: "ann@acme.test",
          login: { issuer: "https://login.test", subject: "a-1" },
        });
      });
    });
    afterEach(async () => {
      for (const one of stores.splice(0)) await one.close();
      await place.dispose();
    });
    const limit = (value: number, projectId: string | null = "site", named = "daily") =>
      writes(store, ANN).createResource({
        kind: "limit",
        tenantId: "acme",
        projectId,
        name: named,
        document: { metric: "requests", window: "day", limit: value },
      });

    test("[d2.11] what the gateway changes by itself, such as a webhook whose receiver is gone, keeps its author", async () => {
      const { id } = await limit(1);
      const changedBy = (actor: Actor) =>
        writes(store, actor).changeResource("limit", id, (one) => ({
          ...one,
          document: { ...one.document, limit: 2 },
        }));
      expect(await changedBy(LOCAL_ACTOR)).toMatchObject({ setBy: "admin", byOperator: false });
      expect(await changedBy({ ...ANN, role: "owner", isOperator: true })).toMatchObject({
        setBy: "owner",
        byOperator: true,
      });
      expect(await changedBy(LOCAL_ACTOR)).toMatchObject({ setBy: "owner", byOperator: true });
    });

    test("of two writers that read the same version, exactly one wins, also on two handles", async () => {
      const { id, version } = await limit(1);
      const other = await open();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) =>
          writes(index % 2 === 0 ? store : other).changeResource("limit", id, (one) => {
            if (one.version !== version) throw new Error("It has changed.");
            return { ...one, document: { ...one.document, limit: index } };
          }),
        ),
      );
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect((await store.findResource("limit", id))?.version).toBe(2);
    });

    test("a dry run returns what would result, and leaves no trace", async () => {
      const revision = await store.revision();
      const dry = await store.change(
        ANN,
        (writer) =>
          writer.createResource({
            kind: "limit",
            tenantId: "acme",
            projectId: null,
            name: "x",
            document: { limit: 1 },
          }),
        { dryRun: true },
      );
      expect(dry).toMatchObject({
        result: { name: "x", version: 1 },
        version: null,
        changes: [{ action: "create", kind: "limit", after: { limit: 1 } }],
      });
      expect(await store.revision()).toBe(revision);
      expect((await store.listResources({ limit: 10 })).data).toEqual([]);
      expect((await store.listAudit({ limit: 10 }, { kind: "limit" })).data).toEqual([]);
    });

    describe("pages", () => {
      const everything = async <T>(
        list: (page: PageRequest) => Promise<Page<T>>,
        limitOfPage: number,
      ): Promise<readonly T[]> => {
        const all: T[] = [];
        let cursor: string | null = null;
        do {
          const page: Page<T> = await list({ limit: limitOfPage, cursor });
          expect(page.data.length).toBeLessThanOrEqual(limitOfPage);
          all.push(...page.data);
          cursor = page.nextCursor;
        } while (cursor !== null);
        return all;
      };

      test("of every size give each row once, in one order", async () => {
        await store.change(ANN, async (writer) => {
          for (let index = 0; index < 7; index++) {
            await writer.createToken(token(`T${index}AAAAAAAAAA`, 1000 + (index % 3)));
            await writer.createUser({ id: `user${index}`, tenantId: "acme", name: "same" });
            await writer.putMembership({
              userId: `user${index}`,
              tenantId: "acme",
              projectId: index % 2 === 0 ? null : "site",
              role: "viewer",
            });
            await writer.createResource({
              kind: "policy",
              tenantId: "acme",
              projectId: null,
              name: `p${index}`,
              document: {},
            });
          }
        });
        for (const list of [
          (page: PageRequest) => store.listTokens(page).then(ids),
          (page: PageRequest) => store.listUsers(page).then(ids),
          (page: PageRequest) =>
            store.listMemberships(page).then((found) => ({
              ...found,
              data: found.data.map(({ userId, projectId }) => `${userId}/${projectId}`),
            })),
          (page: PageRequest) => store.listResources(page).then(ids),
          (page: PageRequest) => store.listAudit(page).then(ids),
        ]) {
          const whole = await everything(list, 1000);
          expect(new Set(whole).size).toBe(whole.length);
          for (const size of [1, 2, 3, 7]) expect(await everything(list, size)).toEqual(whole);
        }
        expect(
          await everything(
            (page) =>
              store
                .listTokens(page)
                .then((found) => ({ ...found, data: found.data.map(({ createdAtMs }) => createdAtMs) })),
            2,
          ),
        ).toEqual([1002, 1002, 1001, 1001, 1000, 1000, 1000]);
      });

      test("rows that are added and removed meanwhile shift no other", async () => {
        for (const id of ["b", "d", "f", "h"]) await writes(store).createTenant({ id, name: id });
        const first = await store.listTenants({ limit: 3 });
        await writes(store).removeTenant("b");
        await writes(store).createTenant({ id: "a", name: "a" });
        expect((await store.listTenants({ limit: 10, cursor: first.nextCursor })).data.map(({ id }) => id)).toEqual([
          "d",
          "f",
          "h",
        ]);
      });

      test("a page of long objects or of long audit rows ends early, and versions between two are not read", async () => {
        const long = (index: number) => ({ description: String(index).repeat(1_000_000) });
        const created: { readonly id: string }[] = [];
        for (let index = 0; index < 6; index++)
          created.push(
            await writes(store).createResource({
              kind: "route",
              tenantId: "acme",
              projectId: null,
              name: `long-${index}`,
              document: long(index),
            }),
          );
        const before = (await store.listVersions({ limit: 1 })).data[0]!.number;
        const { id } = created[0]!;
        for (let index = 6; index < 10; index++)
          await writes(store).changeResource("route", id, (now) => ({ ...now, document: long(index) }));
        const after = (await store.listVersions({ limit: 1 })).data[0]!.number;
        const pages = async (read: (cursor: string | null) => Promise<Page<unknown>>): Promise<readonly number[]> => {
          const counts: number[] = [];
          for (let cursor: string | null = null; ;) {
            const page: Page<unknown> = await read(cursor);
            counts.push(page.data.length);
            cursor = page.nextCursor;
            if (cursor === null) return counts;
          }
        };
        const whole = { tenantId: "acme", projectId: null };
        const routes = await pages((cursor) =>
          store.listResources({ limit: 1000, cursor }, { kind: "route", tenantId: "acme" }),
        );
        expect([routes.length, routes.reduce((sum, count) => sum + count, 0)]).toEqual([1, 6]);
        const rows = await pages((cursor) => store.listAudit({ limit: 1000, cursor }, { targetId: id }));
        expect(rows.length).toBeGreaterThan(1);
        expect(rows.reduce((sum, count) => sum + count, 0)).toBe(5);
        expect((await store.listObjectVersions(id, whole, 100)).length).toBeLessThan(5);
        const [change, ...others] = await store.diffVersions(before, after, whole);
        expect([change!.id, others]).toEqual([id, []]);
        expect([change!.before, change!.after]).toMatchObject([long(0), long(9)]);
        expect(await failure(store.diffVersions(before, after, whole, 1_500_000))).toMatchObject({ kind: "invalid" });
        const back = await store.diffVersions(after, before, whole);
        expect([back[0]!.before, back[0]!.after]).toMatchObject([long(9), long(0)]);
      });

      test("a cursor of another list, a broken one and a size beyond the bounds are refused", async () => {
        await writes(store).createTenant({ id: "gamma", name: "g" });
        const { nextCursor } = await store.listTenants({ limit: 1 });
        for (const cursor of [
          nextCursor!,
          "x",
          "",
          "é",
          Buffer.from('["users","a","b"]').toString("base64url"),
          Buffer.from('["users",1]').toString("base64url"),
        ])
          expect(await failure(store.listUsers({ limit: 1, cursor }))).toMatchObject({ kind: "invalid" });
        for (const size of [0, -1, 1001, 1.5, Number.NaN])
          expect(await failure(store.listUsers({ limit: size }))).toMatchObject({ kind: "invalid" });
      });

      test("filters narrow, and a search takes wildcards literally", async () => {
        await writes(store).createTenant({ id: "odd", name: "100%_Sure\\" });
        expect((await store.listTenants({ limit: 5 }, { search: "%_sure\\" })).data.map(({ id }) => id)).toEqual([
          "odd",
        ]);
        expect((await store.listTenants({ limit: 5 }, { search: "a%e" })).data).toEqual([]);
        await writes(store).createTenant({ id: "aether", name: "Äther & Œuvre" });
        for (const search of ["Äther", "Ä", "THER & Œ"])
          expect((await store.listTenants({ limit: 5 }, { search })).data.map(({ id }) => id)).toEqual(["aether"]);
        await writes(store).createToken(token("LLLLLLLLLLLL"));
        await writes(store).createToken({ ...token("EEEEEEEEEEEE"), expiresAtMs: 5 });
        await writes(store).createToken({ ...token("RRRRRRRRRRRR"), revokedAtMs: 5 });
        for (const [state, id] of [
          ["live", "LLLLLLLLLLLL"],
          ["expired", "EEEEEEEEEEEE"],
          ["revoked", "RRRRRRRRRRRR"],
        ] as const)
          expect((await store.listTokens({ limit: 5 }, { state })).data.map((one) => one.id)).toEqual([id]);
        expect((await store.findUserByLogin("acme", "https://login.test", "a-1"))?.id).toBe("ann");
        expect((await store.listUsers({ limit: 5 }, { email: "ann@acme.test" })).data).toHaveLength(1);
      });
    });

    test("a login belongs to one user in a tenant, and another tenant may have it for a user of its own", async () => {
      const login = { issuer: "https://login.test", subject: "a-1" };
      await writes(store).createTenant({ id: "delta", name: "Delta" });
      await writes(store).createUser({ id: "ann-of-delta", tenantId: "delta", name: "Ann", login });
      expect([
        (await store.findUserByLogin("delta", login.issuer, login.subject))?.id,
        (await store.findUserByLogin("acme", login.issuer, login.subject))?.id,
      ]).toEqual(["ann-of-delta", "ann"]);
      expect(
        await failure(writes(store).createUser({ id: "other", tenantId: "delta", name: "Other", login })),
      ).toMatchObject({ kind: "exists" });
      expect(await store.findUserByLogin("elsewhere", login.issuer, login.subject)).toBeNull();
    });

    describe("the audit log", () => {
      test("has one row for each change, with actor, change, before and after, and no secret", async () => {
        const sha256 = new Uint8Array(32).fill(0xab);
        await store.change(ANN, async (writer) => {
          await writer.createToken({ ...token("BBBBBBBBBBBB"), secrets: [{ sha256, retiresAtMs: null }] });
          await writer.changeToken("BBBBBBBBBBBB", (one) => ({ ...one, revokedAtMs: 9 }));
          await writer.createResource({
            kind: "provider",
            tenantId: "acme",
            projectId: null,
            name: "openai",
            document: { api_key: SECRET, models: ["a"] },
          });
        });
        const { data } = await store.listAudit({ limit: 10 }, { tokenId: "AAAAAAAAAAAA" });
        expect(data.map(({ action, kind, targetId }) => [action, kind, targetId]).toReversed()).toEqual([
          ["create", "token", "BBBBBBBBBBBB"],
          ["change", "token", "BBBBBBBBBBBB"],
          ["create", "provider", expect.stringMatching(/^prv_[0-9a-f]{20}$/)],
        ]);
        expect(data[1]).toMatchObject({
          actor: ANN,
          outcome: "done",
          tenantId: "acme",
          projectId: "site",
          before: { revoked_at: null },
          after: { revoked_at: "1970-01-01T00:00:00.009Z" },
        });
        expect(data[0]).toMatchObject({
          version: 1,
          after: { api_key: expect.stringMatching(/^\*\*\* [0-9a-f]{12}$/), models: ["a"] },
        });
        const said = JSON.stringify(data);
        expect(said).not.toContain(SECRET);
        expect(said).not.toContain("abababab");
      });

      test("takes every text of what was refused, also one that no database stores", async () => {
        const what = { action: "getUser", outcome: "refused", kind: "Users", tenantId: "acme" } as const;
        await store.note(ANN, { ...what, targetId: "a\0b", targetName: "\ud800", note: "no \0" });
        expect((await store.listAudit({ limit: 1 }, { outcome: "refused" })).data).toMatchObject([
          { targetId: "a\uFFFDb", targetName: "\uFFFD", note: "no \uFFFD" },
        ]);
      });

      test("keeps refused attempts, beside no change and by themselves, and is filtered by time and outcome", async () => {
        const revision = await store.revision();
        await store.note(ANN, {
          action: "create",
          outcome: "refused",
          kind: "token",
          tenantId: "acme",
          note: "insufficient_role",
        });
        expect(await store.revision()).toBe(revision);
        nowMs += 1000;
        await store.note(ANN, { action: "login", outcome: "done", kind: "user", tenantId: "acme" });
        expect((await store.listAudit({ limit: 5 }, { outcome: "refused" })).data).toMatchObject([
          { note: "insufficient_role", version: null },
        ]);
        expect((await store.listAudit({ limit: 5 }, { fromMs: nowMs, toMs: nowMs + 1 })).data).toMatchObject([
          { action: "login" },
        ]);
        expect((await store.listAudit({ limit: 5 }, { fromMs: nowMs + 1 })).data).toEqual([]);
      });
    });

    describe("versions", () => {
      test("are created by each transaction that changes resources, are listed, read and compared", async () => {
        const { id } = await limit(1);
        await writes(store).changeResource("limit", id, (one) => ({ ...one, document: { ...one.document, limit: 2 } }));
        await writes(store).createProject({ id: "other", tenantId: "acme", name: "no version" });
        await limit(5, "app");
        const scope = { tenantId: "acme", projectId: "site" };
        expect((await store.listVersions({ limit: 10 })).data.map(({ number, changes }) => [number, changes])).toEqual([
          [3, 1],
          [2, 1],
          [1, 1],
        ]);
        expect((await store.listVersions({ limit: 10 }, scope)).data.map(({ number }) => number)).toEqual([2, 1]);
        expect((await store.findVersion(2, scope))?.changes).toMatchObject([
          { action: "change", before: { limit: 1 }, after: { limit: 2 } },
        ]);
        expect(await store.findVersion(3, scope)).toBeNull();
        expect(await store.findVersion(99)).toBeNull();
        expect(await store.diffVersions(0, 3, scope)).toMatchObject([{ action: "create", after: { limit: 2 } }]);
        expect(await store.diffVersions(2, 1)).toMatchObject([
          { action: "change", before: { limit: 2 }, after: { limit: 1 } },
        ]);
        expect(await store.diffVersions(1, 1)).toEqual([]);
      });

      test("are restored for the resources of one scope alone, also where names were exchanged, and the restoration is a version itself", async () => {
        const one = await limit(1, "site", "one");
        const two = await limit(2, "site", "two");
        const elsewhere = await limit(7, "app", "one");
        const provider = await writes(store).createResource({
          kind: "provider",
          tenantId: "acme",
          projectId: "site",
          name: "openai",
          document: { api_key: SECRET },
        });
        await writes(store).createToken(token("BBBBBBBBBBBB"));
        const mark = (await store.listVersions({ limit: 1 })).data[0]!.number;
        const rename = (id: string, named: string) =>
          writes(store).changeResource("limit", id, (resource) => ({ ...resource, name: named }));
        await rename(one.id, "three");
        await rename(two.id, "one");
        await rename(one.id, "two");
        await writes(store).removeResource("provider", provider.id);
        await limit(9, "site", "later");
        await writes(store).changeResource("limit", elsewhere.id, (resource) => ({
          ...resource,
          document: { limit: 8 },
        }));
        await writes(store).changeToken("BBBBBBBBBBBB", (own) => ({ ...own, revokedAtMs: 5 }));
        const changes = await writes(store, ANN).rollBack({ tenantId: "acme", projectId: "site" }, mark);
        expect(changes).toHaveLength(4);
        const named = async (projectId: string) =>
          (await store.listResources({ limit: 10 }, { tenantId: "acme", projectId })).data.map(
            (resource) => `${resource.name} ${resource.id}`,
          );
        expect(await named("site")).toEqual([`one ${one.id}`, `two ${two.id}`, `openai ${provider.id}`]);
        expect((await store.findResource("limit", elsewhere.id))?.document).toEqual({ limit: 8 });
        expect((await store.findToken("BBBBBBBBBBBB"))?.revokedAtMs).toBe(5);
        expect((await store.listVersions({ limit: 1 })).data[0]).toMatchObject({
          rolledBackTo: mark,
          changes: 4,
          actor: ANN,
        });
        const opened = (await store.readContents()).resources.provider;
        expect(opened).toMatchObject([{ document: { api_key: SECRET }, fault: null }]);
        expect((await store.findResource("limit", one.id))!.version).toBeGreaterThan(2);
        expect(await failure(writes(store).rollBack({ tenantId: "acme", projectId: null }, 999))).toMatchObject({
          kind: "unknown",
        });
      });

      test("of a removed project reach no other project of its id, neither to be read nor to be restored", async () => {
        await writes(store).createResource({
          kind: "provider",
          tenantId: "acme",
          projectId: "site",
          name: "openai",
          document: { api_key: SECRET },
        });
        await limit(1, null);
        const [last] = (await store.listVersions({ limit: 1 })).data;
        const former = last!.number;
        await writes(store).removeProject("site");
        await writes(store).createProject({ id: "site", tenantId: "acme", name: "another" });
        await limit(2, "site");
        const site = { tenantId: "acme", projectId: "site" };
        expect((await store.listVersions({ limit: 5 }, site)).data.map(({ changes }) => changes)).toEqual([1]);
        for (const scope of [site, { tenantId: "acme", projectId: null }])
          await writes(store, ANN).rollBack(scope, former);
        const there = (await store.listResources({ limit: 10 }, site)).data;
        expect(there.filter(({ kind }) => kind === "provider")).toEqual([]);
        expect((await store.listResources({ limit: 10 }, { tenantId: "acme", projectId: null })).data).toHaveLength(1);
      });

      test("of a removed tenant are removed with it, and nothing of a tenant reaches another's scope", async () => {
        await limit(1);
        expect((await store.listVersions({ limit: 5 }, { tenantId: "beta", projectId: null })).data).toEqual([]);
        await writes(store).removeTenant("acme");
        await writes(store).createTenant({ id: "acme", name: "another" });
        expect((await store.listVersions({ limit: 5 }, { tenantId: "acme", projectId: null })).data).toEqual([]);
        expect(
          await failure(
            store.change(LOCAL_ACTOR, async (writer) => {
              await writer.removeTenant("acme");
              await writer.removeTenant("beta");
            }),
          ),
        ).toMatchObject({ kind: "conflict" });
      });
    });

    test("rows of the audit log that are too old are removed, some at a time, and a later read misses nothing", async () => {
      await store.note(LOCAL_ACTOR, {
        action: "create",
        outcome: "refused",
        kind: "token",
        tenantId: "acme",
        note: "early",
      });
      const known = await store.readContents();
      await writes(store).createTenant({ id: "late", name: "late" });
      nowMs += 1000;
      await store.note(LOCAL_ACTOR, {
        action: "create",
        outcome: "refused",
        kind: "token",
        tenantId: "acme",
        note: "late",
      });
      const rows = async (outcome: "done" | "refused"): Promise<number> =>
        (await store.listAudit({ limit: 100 }, { outcome })).data.length;
      const done = await rows("done");
      expect(await store.pruneAudit({ doneMs: null, refusedMs: null })).toBe(0);
      expect(await store.pruneAudit({ doneMs: null, refusedMs: nowMs })).toBe(1);
      expect([await rows("refused"), await rows("done")]).toEqual([1, done]);
      expect(await store.pruneAudit({ doneMs: nowMs, refusedMs: nowMs })).toBe(done);
      expect(await store.pruneAudit({ doneMs: nowMs, refusedMs: nowMs })).toBe(0);
      expect((await store.readContents(known)).identities.tenants.map(({ id }) => id)).toEqual([
        "acme",
        "beta",
        "late",
      ]);
    });

    test("drains are in the contents at once and until they are ended, replaced and removed with their tenant, and each change is in the audit log", async () => {
      const drain = { tenantId: "acme", provider: "mine", model: null, note: "upkeep", begunBy: "ann" };
      const one = { ...drain, untilMs: nowMs + 60_000, begunAtMs: nowMs };
      const known = await store.readContents();
      expect(known.drains).toEqual([]);
      await store.change(ANN, async (writer) => {
        await writer.beginDrain(one);
        await writer.beginDrain({ ...one, model: "m" });
        await writer.beginDrain({ ...one, tenantId: "beta", provider: "other" });
      });
      const begun = await store.readContents(known);
      expect(begun.drains).toEqual([one, { ...one, model: "m" }, { ...one, tenantId: "beta", provider: "other" }]);
      expect((await store.readContents()).drains).toEqual(begun.drains);
      // A change of something else leaves the same list.
      await writes(store).createTenant({ id: "late", name: "late" });
      await store.change(ANN, (writer) => writer.beginDrain({ ...one, untilMs: nowMs + 90_000 }));
      expect((await store.readContents(begun)).drains[0]).toEqual({ ...one, untilMs: nowMs + 90_000 });
      const end = async (model: string | null): Promise<boolean> =>
        (await store.change(ANN, (writer) => writer.endDrain({ tenantId: "acme", provider: "mine", model }))).result;
      expect([await end("m"), await end("m")]).toEqual([true, false]);
      await writes(store).removeTenant("beta");
      expect((await store.readContents(begun)).drains).toEqual([{ ...one, untilMs: nowMs + 90_000 }]);
      nowMs += 90_000;
      expect(await end(null)).toBe(false);
      const { data } = await store.listAudit({ limit: 10 }, { kind: "drain" });
      expect(data.map(({ action, targetId }) => [action, targetId]).toReversed()).toEqual([
        ["create", "mine"],
        ["create", "mine:m"],
        ["create", "other"],
        ["change", "mine"],
        ["remove", "mine:m"],
      ]);
    });

    describe("secrets", () => {
      const provider = (document = { api_key: SECRET, base_url: "https://a.test" }) =>
        writes(store).createResource({ kind: "provider", tenantId: "acme", projectId: null, name: "mine", document });

      test("are encrypted in every table, masked in every answer, and decrypt only in the place for which they were encrypted", async () => {
        const { id, document } = await provider();
        await writes(store).keepAnswer({ tokenId: "t", key: "k", requestHash: "h", status: 201, body: SECRET });
        expect(document["api_key"]).toMatch(/^\*\*\* [0-9a-f]{12}$/);
        const rows = JSON.stringify(
          [
            await place.read("select * from resources"),
            await place.read("select * from version_changes"),
            await place.read("select * from audit_log"),
            await place.read("select * from kept_answers"),
          ],
          (_, value: unknown) => (typeof value === "bigint" ? String(value) : value),
        );
        expect(rows).not.toContain(SECRET);
        expect(rows).toContain("sealed:1:");
        expect((await store.readContents()).resources.provider).toMatchObject([{ document: { api_key: SECRET } }]);
        const other = await writes(store).createResource({
          kind: "provider",
          tenantId: "beta",
          projectId: null,
          name: "mine",
          document: {},
        });
        await place.run(
          `update resources set document = (select document from resources where id = '${id}') where id = '${other.id}'`,
        );
        const moved = (await (await open()).readContents()).resources.provider.find((one) => one.id === other.id);
        expect(moved?.fault).toContain("copied from another place");
        expect(moved?.document["api_key"]).toBe("");
      });

      test("[d2.9] a masked one stands for the stored secret, but not where its address changes, and not under another's name", async () => {
        const { id } = await provider();
        const change = (changes: object) =>
          writes(store).changeResource("provider", id, (one) => ({
            ...one,
            document: { ...one.document, ...changes },
          }));
        await change({ models: ["m"] });
        expect((await store.readContents()).resources.provider).toMatchObject([
          { document: { api_key: SECRET, models: ["m"] } },
        ]);
        expect(await failure(change({ base_url: "https://evil.test" }))).toMatchObject({ kind: "invalid" });
        expect(await failure(change({ api_key: "*** 000000000000" }))).toMatchObject({ kind: "invalid" });
        await change({ base_url: "https://b.test", api_key: "sk-new" });
        expect((await store.readContents()).resources.provider).toMatchObject([
          { document: { api_key: "sk-new", base_url: "https://b.test" } },
        ]);
      });

      test("what no gateway holds, such as a saved view, leaves the revision as it was: none reads everything again", async () => {
        await limit(1);
        const before = await store.revision();
        const known = await store.readContents();
        const view = {
          id: "view",
          owner: { tenantId: "acme", projectId: null, userId: "ann" },
          screen: "calls",
          name: "mine",
          query: "",
          isDefault: false,
          createdBy: "ann",
          createdAtMs: nowMs,
        };
        await writes(store).createView(view);
        await store.change(ANN, (writer) => {
          writer.note({ action: "read", outcome: "done", kind: "call", tenantId: "acme" });
          return Promise.resolve();
        });
        expect(await store.revision()).toBe(before);
        await limit(2, "app");
        // what has changed since is read alone
        const after = await store.readContents(known);
        expect(after.revision).toBe(String(BigInt(before) + 1n));
        expect(after.resources.limit).toHaveLength(2);
        expect(after.identities.users[0]).toBe(known.identities.users[0]);
      });

      test("drafts go with their user: who takes the id later sees none of them", async () => {
        const asks = { tenantId: "acme", projectId: null, owner: "zoe", kind: "policy" as const, name: "asks" };
        const zoe = { id: "zoe", tenantId: "acme", name: "Zoe" };
        await writes(store).createUser(zoe);
        await store.drafts.saveDraft({ ...asks, text: "typed", base: null, savedAtMs: nowMs });
        await store.drafts.saveDraft({ ...asks, owner: "ann", text: "typed", base: null, savedAtMs: nowMs });
        await writes(store).removeUser("zoe");
        await writes(store).createUser(zoe);
        expect(await store.drafts.findDraft(asks)).toBeNull();
        expect(await store.drafts.listDrafts(asks)).toEqual([]);
        expect(await store.drafts.findDraft({ ...asks, owner: "ann" })).toMatchObject({ text: "typed" });
      });

      test("drafts and saved views of a person of another tenant, whose company login has the id, do not go with a user", async () => {
        const theirs = { tenantId: "acme", projectId: null };
        const draft = { ...theirs, owner: "corp.alice", kind: "policy" as const, name: "asks" };
        await store.drafts.saveDraft({ ...draft, text: "typed", base: null, savedAtMs: nowMs });
        const owner = { ...theirs, userId: "corp.alice" };
        await writes(store).createView({
          id: "view",
          owner,
          screen: "calls",
          name: "mine",
          query: "status=500",
          isDefault: false,
          createdBy: "corp.alice",
          createdAtMs: nowMs,
        });
        await writes(store).createUser({ id: "corp.alice", tenantId: "beta", name: "x" });
        await writes(store).removeUser("corp.alice");
        expect(await store.drafts.findDraft(draft)).toMatchObject({ text: "typed" });
        expect((await store.listViews({ limit: 5 }, { owner })).data).toMatchObject([{ name: "mine" }]);
      });

      test("answers to requests with a key go with their user, where that had come by a login link", async () => {
        const zoe = { id: "zoe", tenantId: "acme", name: "Zoe" };
        await writes(store).createUser(zoe);
        const answer = { key: "k", requestHash: "h", status: 201, body: "{}" };
        for (const tokenId of ["console:zoe", "console:ann"]) await writes(store).keepAnswer({ ...answer, tokenId });
        await writes(store).removeUser("zoe");
        await writes(store).createUser(zoe);
        expect(await store.findAnswer("console:zoe", "k")).toBeNull();
        expect(await store.findAnswer("console:ann", "k")).not.toBeNull();
      });

      test("[d14.2] sessions and login links go with their user, whatever their rights come from", async () => {
        const zoe = { id: "zoe", tenantId: "acme", name: "Zoe" };
        await writes(store).createUser(zoe);
        const opened = (userId: string) =>
          store.sessions.openSession({
            id: `of-${userId}`,
            secretHash: `of-${userId}`,
            way: "oidc",
            tenantId: "acme",
            userId,
            tokenId: null,
            identity: "{}",
            rights: "",
            address: null,
            browser: null,
            startedAtMs: nowMs,
            seenAtMs: nowMs,
            endsAtMs: nowMs + 60_000,
          });
        const linked = (userId: string) =>
          store.sessions.keepCode({
            codeHash: `of-${userId}`,
            tenantId: "acme",
            userId,
            permissions: [],
            expiresAtMs: nowMs + 60_000,
          });
        for (const user of ["zoe", "ann"]) await Promise.all([opened(user), linked(user)]);
        await writes(store).removeUser("zoe");
        expect(await store.sessions.findSession("of-zoe")).toBeNull();
        expect(await store.sessions.takeCode("of-zoe", nowMs)).toBeNull();
        expect(await store.sessions.findSession("of-ann")).toMatchObject({ userId: "ann" });
        expect(await store.sessions.takeCode("of-ann", nowMs)).toMatchObject({ userId: "ann" });
      });

      test("under another key are named and stay; after a rotation the new key alone decrypts everything, earlier versions too", async () => {
        const { id } = await provider();
        await writes(store).changeResource("provider", id, (one) => ({
          ...one,
          document: { ...one.document, api_key: "second" },
        }));
        const draft = {
          tenantId: "acme",
          projectId: null,
          owner: "ann",
          kind: "policy" as const,
          name: "asks",
          text: "guard: { service: { headers: { authorization: typed-secret } } }",
          base: null,
          savedAtMs: nowMs,
        };
        await store.drafts.saveDraft(draft);
        expect(JSON.stringify(await place.read("select * from drafts"))).not.toContain("typed-secret");
        const NEW = new Uint8Array(32).fill(8);
        const stranger = await open([NEW]);
        expect((await stranger.readContents()).resources.provider[0]?.fault).toMatch(
          /master key [0-9a-f]{8}, which is not among/,
        );
        expect((await stranger.reencrypt()).unopened.length).toBeGreaterThan(0);
        expect(await stranger.drafts.findDraft(draft)).toBeNull();
        expect(await (await open([NEW, KEY])).reencrypt()).toEqual({ rows: 4, unopened: [] });
        const after = await open([NEW]);
        expect(await after.drafts.findDraft(draft)).toMatchObject({ text: draft.text });
        expect((await after.readContents()).resources.provider).toMatchObject([
          { document: { api_key: "second" }, fault: null },
        ]);
        await writes(after).rollBack({ tenantId: "acme", projectId: null }, 1);
        expect((await after.readContents()).resources.provider).toMatchObject([
          { document: { api_key: SECRET }, fault: null },
        ]);
      });

      test("are the same in two versions after a rotation as before it, so that there is nothing to compare or to take back", async () => {
        const { id } = await provider();
        const withModels = (models: readonly string[]) =>
          writes(store).changeResource("provider", id, (one) => ({
            ...one,
            document: { ...one.document, models: [...models] },
          }));
        const version = async (): Promise<number> => (await store.listVersions({ limit: 1 })).data[0]!.number;
        await withModels([]);
        const first = await version();
        await withModels(["m"]);
        await withModels([]);
        const rotated = await open([new Uint8Array(32).fill(8), KEY]);
        await rotated.reencrypt();
        expect(await rotated.diffVersions(first, await version())).toEqual([]);
        expect(await writes(rotated).rollBack({ tenantId: "acme", projectId: null }, first)).toEqual([]);
      });

      test("are all under the new key after a rotation, however many objects and versions there are", async () => {
        const { id } = await provider();
        for (let number = 0; number < 45; number++)
          await writes(store).changeResource("provider", id, (one) => ({
            ...one,
            document: { ...one.document, api_key: `secret-${number}` },
          }));
        const NEW = new Uint8Array(32).fill(8);
        // the object, and each of its versions
        expect(await (await open([NEW, KEY])).reencrypt()).toEqual({ rows: 47, unopened: [] });
        expect(await (await open([NEW, KEY])).reencrypt()).toEqual({ rows: 0, unopened: [] });
      });

      test("that this version cannot read are named at a rotation, which goes on with the others", async () => {
        await provider();
        const [damaged, newer] = await Promise.all(
          ["damaged", "newer"].map((named) =>
            writes(store).createResource({
              kind: "limit",
              tenantId: "acme",
              projectId: null,
              name: named,
              document: {},
            }),
          ),
        );
        await place.run(`update resources set document = '[' where id = '${damaged!.id}'`);
        await place.run(`update resources set kind = 'gizmo' where id = '${newer!.id}'`);
        const NEW = new Uint8Array(32).fill(8);
        const { rows, unopened } = await (await open([NEW, KEY])).reencrypt();
        expect(rows).toBe(2);
        expect(unopened.toSorted()).toEqual([
          "gizmo newer: this version does not know its kind",
          "limit damaged: it is no JSON object",
        ]);
        expect((await (await open([NEW])).readContents()).resources.provider).toMatchObject([
          { document: { api_key: SECRET }, fault: null },
        ]);
      });
    });

    test("an answer is kept for a day, in the transaction of its change, once for each token and key", async () => {
      const answer = { tokenId: "t1", key: "k", requestHash: "h", status: 201, body: "{}" };
      await store.change(ANN, async (writer) => {
        await writer.createTenant({ id: "once", name: "x" });
        await writer.keepAnswer(answer);
      });
      expect(await store.findAnswer("t1", "k")).toEqual(answer);
      expect(await store.findAnswer("t2", "k")).toBeNull();
      expect(
        await failure(
          store.change(ANN, async (writer) => {
            await writer.createTenant({ id: "twice", name: "x" });
            await writer.keepAnswer(answer);
          }),
        ),
      ).toMatchObject({ kind: "exists" });
      expect(await store.findTenant("twice")).toBeNull();
      nowMs += 86_400_000;
      expect(await store.findAnswer("t1", "k")).toBeNull();
      await writes(store).keepAnswer(answer);
    });

    test("removing a project removes its tokens, resources and memberships, and removing a last membership the user's personal tokens", async () => {
      const { id } = await limit(1);
      await writes(store).createToken(token("BBBBBBBBBBBB"));
      await writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: "site", role: "developer" });
      await writes(store).createToken({
        ...token("CCCCCCCCCCCC"),
        kind: "personal",
        projectId: null,
        userId: "ann",
        role: null,
      });
      const { changes } = await store.change(ANN, (writer) => writer.removeProject("site"));
      expect(changes.map(({ action, kind }) => `${action} ${kind}`)).toEqual([
        "remove membership",
        "change token",
        "remove token",
        "remove limit",
        "remove project",
      ]);
      expect([await store.findToken("BBBBBBBBBBBB"), await store.findResource("limit", id)]).toEqual([null, null]);
      expect((await store.findToken("CCCCCCCCCCCC"))?.revokedAtMs).toBe(nowMs);
    });

    test("names are unique for a kind in one scope, and free in every other", async () => {
      await limit(1, "site", "same");
      await limit(1, "app", "same");
      await limit(1, null, "same");
      await writes(store).createResource({
        kind: "budget",
        tenantId: "acme",
        projectId: "site",
        name: "same",
        document: {},
      });
      for (const projectId of ["site", null])
        expect(await failure(limit(2, projectId, "same"))).toMatchObject({ kind: "exists" });
      expect(
        (await store.findResourceByName("limit", { tenantId: "acme", projectId: null }, "same"))?.document,
      ).toMatchObject({ limit: 1 });
      expect(await store.findResourceByName("limit", { tenantId: "beta", projectId: null }, "same")).toBeNull();
      expect(
        await failure(
          writes(store).createResource({ kind: "limit", tenantId: "beta", projectId: "site", name: "x", document: {} }),
        ),
      ).toMatchObject({ kind: "unknown" });
    });

    test("text that looks like SQL is plain text, in every field and filter", async () => {
      const evil = `'); drop table tenants; -- " \\ % _ \u2028 \u{1F600} $1 ? :x`;
      await store.change({ ...ANN, tokenId: evil, userId: evil, address: evil }, async (writer) => {
        await writer.createTenant({ id: evil, name: evil });
        await writer.createProject({ id: evil, tenantId: evil, name: evil });
        await writer.createUser({
          id: evil,
          tenantId: evil,
          name: evil,
          email: evil,
          login: { issuer: evil, subject: evil },
        });
        await writer.putMembership({ userId: evil, tenantId: evil, projectId: evil, role: "viewer" });
        await writer.createToken({
          ...token(evil),
          tenantId: evil,
          projectId: evil,
          name: evil,
          models: [evil],
          routes: [evil],
          ipRanges: [evil],
          createdBy: evil,
        });
        await writer.createResource({
          kind: "policy",
          tenantId: evil,
          projectId: evil,
          name: evil,
          document: { [evil]: [evil, "\0"] },
        });
        await writer.keepAnswer({ tokenId: evil, key: evil, requestHash: evil, status: 200, body: evil });
        writer.note({
          action: evil,
          outcome: "refused",
          kind: evil,
          tenantId: evil,
          note: evil,
          targetId: evil,
          before: { [evil]: evil },
        });
      });
      expect(await store.findToken(evil)).toMatchObject({ name: evil, models: [evil], createdBy: evil });
      expect(
        (await store.listResources({ limit: 5 }, { tenantId: evil, projectId: evil, name: evil, search: evil })).data,
      ).toMatchObject([{ document: { [evil]: [evil, "\0"] } }]);
      expect(
        (await store.listAudit({ limit: 50 }, { tenantId: evil, tokenId: evil, action: evil })).data,
      ).toMatchObject([{ note: evil }]);
      expect(await store.findAnswer(evil, evil)).toMatchObject({ body: evil });
      expect((await store.listTenants({ limit: 5 }, { search: evil })).data).toHaveLength(1);
      expect((await store.readIdentities()).tenants).toHaveLength(3);
      for (const attempt of [
        () => writes(store).createTenant({ id: "x", name: "a\0b" }),
        () => writes(store).createTenant({ id: "a\0b", name: "x" }),
      ])
        expect(await failure(attempt())).toMatchObject({ kind: "invalid" });
    });

    describe("contents", () => {
      test("reread from an earlier state equal those of a fresh read, with the same objects for unchanged parts", async () => {
        const { id } = await limit(1);
        await writes(store).createToken(token("BBBBBBBBBBBB"));
        let known: Contents = await store.readContents();
        const other = await open();
        for (const step of [
          () => limit(2, "app"),
          () => writes(other).changeResource("limit", id, (one) => ({ ...one, document: { limit: 3 } })),
          () => writes(other).createToken(token("CCCCCCCCCCCC")),
          () => writes(store).changeToken("BBBBBBBBBBBB", (one) => ({ ...one, revokedAtMs: 5 })),
          () => writes(store).putMembership({ userId: "ann", tenantId: "acme", projectId: null, role: "owner" }),
          () => writes(store).removeProject("app"),
          () => writes(other).removeUser("ann"),
          () => writes(store).removeTenant("acme"),
          () => writes(store).createTenant({ id: "acme", name: "again" }),
        ]) {
          await step();
          const next = await store.readContents(known);
          expect(next).toEqual(await other.readContents());
          expect(next.revision).toBe(await store.revision());
          if (next.identities.tokens.length === known.identities.tokens.length)
            for (const [index, one] of next.identities.tokens.entries())
              if (one.revokedAtMs === known.identities.tokens[index]?.revokedAtMs)
                expect(one).toBe(known.identities.tokens[index]);
          known = next;
        }
        expect(await store.readContents(known)).toBe(known);
      });

      test("are reread completely where the log does not explain everything: rows from outside, and a revision that went back", async () => {
        const known = await store.readContents();
        await place.run("update revisions set counter = counter + 1");
        await place.run("update projects set name = 'from outside' where id = 'site'");
        expect((await store.readContents(known)).identities.projects.find(({ id }) => id === "site")?.name).toBe(
          "from outside",
        );
        const later = await store.readContents();
        await place.run("update revisions set counter = counter - 2");
        await place.run("update projects set name = 'a backup' where id = 'site'");
        expect((await store.readContents(later)).identities.projects.find(({ id }) => id === "site")?.name).toBe(
          "a backup",
        );
      });
    });
  });
}

const ids = <T extends { readonly id: string }>({ data, nextCursor }: Page<T>): Page<string> => ({
  data: data.map(({ id }) => id),
  nextCursor,
});

async function failure(attempt: Promise<unknown>): Promise<Error> {
  return attempt.then(
    () => {
      throw new Error("It was expected to fail, and did not.");
    },
    (error: unknown) => error as Error,
  );
}

function token(id: string, createdAtMs = 1_699_999_999_000): StoredToken {
  return storedSample({
    id,
    name: `token ${id}`,
    secrets: [{ sha256: new Uint8Array(32).fill(id.charCodeAt(0)), retiresAtMs: null }],
    createdAtMs,
    lifetimeMs: 86_400_000,
    expiresAtMs: 1_800_000_000_000,
  });
}
