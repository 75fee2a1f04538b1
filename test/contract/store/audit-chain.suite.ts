// The chain of the audit log in every database: several writers make one chain for each tenant, and a row that was changed,
// moved or removed from outside is found.
import { afterEach, describe, expect, test } from "bun:test";
import { contentOf, type ChainReport } from "../../../src/store/audit/audit-chain.ts";
import { checkChain } from "../../../src/store/audit/audit-check.ts";
import { type Actor, type AuditNote, LOCAL_ACTOR } from "../../../src/store/records.ts";
import type { Store } from "../../../src/store/store.ts";
import { openSecretCipher } from "../../../src/config/secret-cipher.ts";
import { writes } from "../../harness/store-writes.ts";
import type { StorePlace } from "./store.suite.ts";

const cipher = openSecretCipher([new Uint8Array(32).fill(7)]);
const NOW_MS = 1_700_000_000_000;
const DAY_MS = 86_400_000;

const noteIn = (tenantId: string | null, more: Partial<AuditNote> = {}): AuditNote => ({
  action: "login",
  outcome: "done",
  kind: "session",
  tenantId,
  ...more,
});

export function auditChainSuite(name: string, newPlace: () => Promise<StorePlace>): void {
  describe(`the chain of the audit log in ${name}`, () => {
    const open: { close(): Promise<void> }[] = [];
    afterEach(async () => {
      for (const one of open.splice(0).toReversed()) await one.close();
    });
    let nowMs = NOW_MS;
    const storeIn = async (place: StorePlace): Promise<Store> => {
      const store = await place.open({ cipher, clock: { now: () => nowMs, monotonic: () => performance.now() } });
      open.push(store);
      await store.migrate();
      return store;
    };
    const placed = async (): Promise<{ place: StorePlace; store: Store }> => {
      nowMs = NOW_MS;
      const place = await newPlace();
      open.push({ close: () => place.dispose() });
      return { place, store: await storeIn(place) };
    };
    /** A tenant with its chain of six rows: it was made, and five more. */
    const withRows = async (): Promise<{ place: StorePlace; store: Store }> => {
      const { place, store } = await placed();
      await writes(store).createTenant({ id: "acme", name: "Acme" });
      for (let row = 2; row <= 6; row++) {
        nowMs += 1000;
        await store.note(LOCAL_ACTOR, noteIn("acme", { targetId: `t${row}`, before: { row, "2": "ü\u0007" } }));
      }
      return { place, store };
    };
    const intact = { problems: [] };

    test("several writers make one chain for each tenant, and one for what concerns no tenant", async () => {
      const { place, store } = await placed();
      const stores = [store, await storeIn(place), await storeIn(place)];
      for (const id of ["acme", "else"]) await writes(store).createTenant({ id, name: id });
      const wrote = Array.from({ length: 60 }, async (_, at) => {
        const one = stores[at % 3]!;
        const tenantId = [null, "acme", "else"][at % 4 === 3 ? 1 : (at >> 2) % 3]!;
        if (at % 5 === 0) await writes(one).createTenant({ id: `t${at}`, name: "T" });
        else await one.note(LOCAL_ACTOR, noteIn(tenantId));
      });
      await Promise.all(wrote);
      const chains = await store.auditChains();
      expect(chains.slice(0, 3)).toEqual(["", "acme", "else"]);
      let rows = 0;
      for (const chain of chains) {
        const report = await checkChain(store, chain);
        expect(report).toMatchObject(intact);
        expect(report.head.sequence).toBe(report.rows);
        rows += report.rows;
      }
      expect(rows).toBe(62);
      const { data } = await store.listAudit({ limit: 100 }, { tenantId: "acme" });
      expect(data.map(({ link }) => link.sequence).toSorted((a, b) => a - b)).toEqual(data.map((_, at) => at + 1));
    });

    test("a change to several tenants at once does not wait for another one for ever", async () => {
      const { place, store } = await placed();
      const other = await storeIn(place);
      const both = (one: Store, order: readonly string[]): Promise<unknown> =>
        one.change(LOCAL_ACTOR, (writer) => {
          for (const tenantId of order) writer.note(noteIn(tenantId));
          return Promise.resolve();
        });
      await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          both(at % 2 === 0 ? store : other, at % 2 === 0 ? ["a", "b"] : ["b", "a"]),
        ),
      );
      for (const chain of ["a", "b"]) expect(await checkChain(store, chain)).toMatchObject({ rows: 20, ...intact });
    });

    const TAMPERED: readonly (readonly [
      what: string,
      sql: string,
      found: Partial<ChainReport["problems"][number]>[],
    ])[] = [
      [
        "its text",
        "update audit_log set target_id = 'other' where sequence = 3",
        [{ problem: "changed", sequence: 3 }],
      ],
      ["its time", "update audit_log set at_ms = at_ms - 1 where sequence = 3", [{ problem: "changed", sequence: 3 }]],
      [
        "who did it",
        "update audit_log set actor_user_id = 'ann' where sequence = 6",
        [{ problem: "changed", sequence: 6 }],
      ],
      [
        "its address",
        "update audit_log set actor_address = '::1' where sequence = 1",
        [{ problem: "changed", sequence: 1 }],
      ],
      [
        "how it was asked",
        "update audit_log set via = 'cli' where sequence = 2",
        [{ problem: "changed", sequence: 2 }],
      ],
      [
        "its value",
        `update audit_log set value_before = '{"row":4}' where sequence = 4`,
        [{ problem: "changed", sequence: 4 }],
      ],
      [
        "its hash",
        `update audit_log set hash = '${"1".repeat(64)}' where sequence = 4`,
        [
          { problem: "changed", sequence: 4 },
          { problem: "changed", sequence: 5 },
        ],
      ],
      [
        "a row in the middle is gone",
        "delete from audit_log where sequence = 4",
        [{ problem: "missing", sequence: 4 }],
      ],
      ["the first rows are gone", "delete from audit_log where sequence < 3", [{ problem: "missing", sequence: 1 }]],
      ["the last row is gone", "delete from audit_log where sequence = 6", [{ problem: "missing", sequence: 6 }]],
      ["all rows are gone", "delete from audit_log", [{ problem: "missing", sequence: 1 }]],
      [
        "its head is another one",
        `update audit_chains set hash = '${"2".repeat(64)}'`,
        [{ problem: "head", sequence: 6 }],
      ],
      ["its head was set back", "update audit_chains set sequence = 4", [{ problem: "head", sequence: 5 }]],
      [
        "two rows changed places",
        "update audit_log set sequence = case sequence when 3 then -4 else -3 end where sequence in (3, 4); update audit_log set sequence = -sequence where sequence < 0",
        [
          { problem: "changed", sequence: 3 },
          { problem: "changed", sequence: 4 },
          { problem: "changed", sequence: 5 },
        ],
      ],
    ];
    test.each(TAMPERED)("what was done from outside is found: %s", async (_, sql, found) => {
      const { place, store } = await withRows();
      expect(await checkChain(store, "acme")).toMatchObject({ rows: 6, removed: 0, ...intact });
      for (const statement of sql.split(";")) await place.run(statement);
      const { problems } = await checkChain(store, "acme");
      expect(problems).toMatchObject(found);
      expect(problems).toHaveLength(found.length);
    });

    test("a chain that was cut and whose head was moved is found by whoever noted the head", async () => {
      const { place, store } = await withRows();
      const head = (await store.auditHead("acme"))!;
      const [four] = await store.auditLinks("acme", 3, 1);
      await place.run("delete from audit_log where sequence > 4");
      await place.run(`update audit_chains set sequence = 4, hash = '${four!.hash}'`);
      expect(await checkChain(store, "acme")).toMatchObject(intact);
      expect(await checkChain(store, "acme", head)).toMatchObject({
        problems: [{ problem: "rewritten", sequence: 6 }],
      });
      for (let row = 0; row < 3; row++) await store.note(LOCAL_ACTOR, noteIn("acme"));
      expect(await checkChain(store, "acme", head)).toMatchObject({
        problems: [{ problem: "rewritten", sequence: 6 }],
      });
      expect(await checkChain(store, "acme", await store.auditHead("acme"))).toMatchObject(intact);
    });

    test("rows that age has removed leave their place, and the chain can still be checked", async () => {
      const { place, store } = await withRows();
      nowMs += DAY_MS;
      await store.note(LOCAL_ACTOR, noteIn("acme", { outcome: "refused" }));
      const second = await storeIn(place);
      const prune = (one: Store): Promise<number> => one.pruneAudit({ doneMs: NOW_MS + 2500, refusedMs: null });
      await Promise.all([prune(store), prune(second)]);
      expect(await prune(store)).toBe(0);
      expect(await checkChain(store, "acme")).toMatchObject({
        rows: 4,
        removed: 3,
        newestRemovedMs: NOW_MS + 2000,
        ...intact,
      });
      await place.run("update audit_removed set at_ms = at_ms - 5 where sequence = 2");
      expect(await checkChain(store, "acme")).toMatchObject({ problems: [{ problem: "changed", sequence: 2 }] });
      await place.run("delete from audit_removed where sequence = 2");
      expect(await checkChain(store, "acme")).toMatchObject({ problems: [{ problem: "missing", sequence: 2 }] });
    });

    test("no row stands outside of the chains, so that none can be added behind the gateway's back", async () => {
      const { place, store } = await withRows();
      const written = `insert into audit_log (id, at_ms, action, outcome, kind, tenant_id) values ('e1', ${NOW_MS}, 'create', 'done', 'limit', 'acme')`;
      expect(place.run(written)).rejects.toThrow(/null/i);
      expect(await checkChain(store, "acme")).toMatchObject({ rows: 6, ...intact });
    });

    test("how it was asked for and the session are kept, and rows are found by them", async () => {
      const { store } = await placed();
      const actor: Actor = { ...LOCAL_ACTOR, via: "console", sessionId: "ses_1" };
      await store.note(actor, noteIn("acme"));
      await store.note(LOCAL_ACTOR, noteIn("acme"));
      const { data } = await store.listAudit({ limit: 5 }, { via: "console", sessionId: "ses_1" });
      expect(data.map((row) => row.actor)).toMatchObject([{ via: "console", sessionId: "ses_1" }]);
      expect((await store.listAudit({ limit: 5 }, { sessionId: "ses_2" })).data).toEqual([]);
    });

    test("a text that no database can store as it is does not break the chain", async () => {
      const { store } = await placed();
      await store.note(
        LOCAL_ACTOR,
        noteIn("acme", { targetName: "half \ud800", note: "\udc00", after: { of: "\ud800" } }),
      );
      expect(await checkChain(store, "acme")).toMatchObject({ rows: 1, ...intact });
    });
  });
}

test("what a row says is in its content, with the text that the database has", () => {
  const row = {
    id: "1",
    at_ms: 1n,
    actor_token_id: "T",
    actor_user_id: null,
    actor_role: "owner",
    actor_tenant_id: "acme",
    actor_address: "::1",
    via: "api",
    session_id: null,
    action: "change",
    outcome: "done",
    kind: "limit",
    target_id: "l",
    target_name: "n",
    tenant_id: "acme",
    project_id: "p",
    value_before: '{"b": 1.0}',
    value_after: null,
    note: "said",
    version: 3n,
    revision: 4n,
  };
  const content = contentOf(row);
  expect(content).toContain('"before":{"b": 1.0},"after":null');
  expect(JSON.parse(content)).toMatchObject({ id: "1", actor: { token_id: "T", role: "owner" }, revision: 4 });
  for (const [name, value] of Object.entries(row)) {
    if (name === "at_ms" || name === "outcome") continue; // these are hashed beside it
    const other = { ...row, [name]: typeof value === "bigint" ? value + 1n : '{"x":1}' };
    expect(contentOf(other)).not.toBe(content);
  }
});
