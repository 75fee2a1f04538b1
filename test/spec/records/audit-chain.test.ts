// The admin API over the chain of the audit log: its check, signed exports that are checked without the gateway, and who could
// call what at a time in the past.
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { checkedExport } from "../../../src/store/audit/audit-export.ts";
import { auditSigner, isSignedBy } from "../../../src/store/audit/audit-signature.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { allDatabases } from "../../harness/servers/databases.ts";
import { writes } from "../../harness/store-writes.ts";

const kinds = await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split("\n");
}

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    const worlds: AdminWorld[] = [];
    afterEach(async () => void (await Promise.all(worlds.splice(0).map((world) => world.close()))));
    let nowMs = 0;
    const opened = async (): Promise<AdminWorld> => {
      nowMs = Date.parse("2026-03-01T00:00:00Z");
      const world = await openAdminWorld({ kind, clock: { now: () => nowMs, monotonic: () => performance.now() } });
      worlds.push(world);
      return world;
    };
    const AUDIT = "/api/v1/admin/tenants/acme/audit";

    test("an administrator has the chain of the tenant checked, and learns what was changed from outside", async () => {
      const world = await opened();
      const { status, body } = await world.send("acme.admin", "GET", `${AUDIT}/verify`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        intact: true,
        chains: [{ tenant_id: "acme", removed: 0, problems: [] }],
      });
      const { head } = body.chains[0];
      expect(head.sequence).toBe(body.chains[0].rows);
      await world.read(`update audit_log set note = 'nothing' where chain = 'acme' and sequence = 2`);
      expect((await world.send("acme.admin", "GET", `${AUDIT}/verify`)).body).toMatchObject({
        intact: false,
        chains: [{ problems: [{ problem: "changed", sequence: 2 }] }],
      });
      const all = await world.send("default.owner", "GET", "/api/v1/admin/audit/verify");
      expect(all.body.chains.map((one: any) => [one.tenant_id, one.problems.length])).toEqual([
        ["acme", 1],
        ["beta", 0],
        ["default", 0],
      ]);
    });

    test("a head that was noted earlier is looked for", async () => {
      const world = await opened();
      const check = (query: string) => world.send("acme.admin", "GET", `${AUDIT}/verify?${query}`);
      const { sequence, hash } = (await check("")).body.chains[0].head;
      expect((await check(`sequence=${sequence}&hash=${hash}`)).body.intact).toBe(true);
      expect((await check(`sequence=${sequence}&hash=${"0".repeat(64)}`)).body).toMatchObject({
        intact: false,
        chains: [{ problems: [{ problem: "rewritten", sequence }] }],
      });
      for (const [query, param] of [
        ["sequence=1", "hash"],
        [`hash=${hash}`, "sequence"],
        ["sequence=1&hash=abc", "hash"],
        ["sequence=-1", "sequence"],
      ])
        expect((await check(query!)).body.error).toMatchObject({ code: "invalid_request", param });
    });

    test("an export says everything that the list says, is signed, and is checked without the gateway", async () => {
      const world = await opened();
      await world.store.note(LOCAL_ACTOR, {
        action: "login",
        outcome: "refused",
        kind: "session",
        tenantId: "acme",
        note: 'a "quoted"\nnote \u2028 ü',
      });
      const { status, headers, text } = await world.send("acme.admin", "GET", `${AUDIT}/export`);
      expect([status, headers.get("content-type")]).toEqual([200, "application/x-ndjson; charset=utf-8"]);
      const checked = await checkedExport(linesOf(text));
      const { data } = await world.store.listAudit({ limit: 1000 }, { tenantId: "acme" });
      expect(checked).toMatchObject({ tenantId: "acme", rows: data.length, problems: [], isSigned: true });
      const { body } = await world.send("acme.admin", "GET", `${AUDIT}/verify`);
      expect(body.public_key).toBe(checked.publicKey);
      expect(body.chains[0].head).toEqual(checked.end);
      const rows = text
        .split("\n")
        .slice(1, -2)
        .map((line) => JSON.parse(JSON.parse(line).content));
      expect(rows.at(-2).note).toContain("\u2028");
      // the export itself is written down before anything leaves
      expect(rows.at(-1)).toMatchObject({
        action: "export",
        kind: "audit_log",
        actor: { tenant_id: "acme" },
        via: "api",
      });
      expect(text).not.toMatch(/"tenant_id":"(beta|default)"/);
    });

    test("an export that was changed, cut or put together is found", async () => {
      const world = await opened();
      const { text } = await world.send("acme.admin", "GET", `${AUDIT}/export`);
      const lines = text.trimEnd().split("\n");
      const checked = (changed: readonly string[]) =>
        checkedExport(linesOf(changed.join("\n"))).catch((error: unknown) => (error as Error).message);
      const without = (at: number): string[] => lines.toSpliced(at, 1);
      expect(await checked(lines)).toMatchObject({ problems: [], isSigned: true });
      expect(await checked(without(3))).toMatchObject({ problems: [{ problem: "missing" }], isSigned: false });
      expect(await checked(without(lines.length - 2))).toMatchObject({
        problems: [{ problem: "missing" }],
        isSigned: false,
      });
      expect(await checked(lines.with(3, lines[3]!.replace("create", "remove")))).toMatchObject({
        problems: [{ problem: "changed", sequence: 3 }],
        isSigned: false,
      });
      // whoever makes all hashes anew lacks the key
      const foreign = auditSigner(null, new Uint8Array(32).fill(8));
      const end = JSON.parse(lines.at(-1)!);
      const forged = { ...end, signature: foreign.sign(`dragoman audit export 1\n${end.sha256}\n`) };
      expect(await checked([...lines.slice(0, -1), JSON.stringify(forged)])).toMatchObject({
        problems: [],
        isSigned: false,
      });
      expect(await checked(without(lines.length - 1))).toBe(
        "The export has no end: it was cut off, and what it lacks is unknown.",
      );
      expect(await checked(without(0))).toContain("is no export of the audit log");
      expect(await checked(["no JSON", "{}"])).toBe(
        "Line 1 of the export is no JSON object.".replace("Line", "The line"),
      );
      expect(await checked([])).toContain("no first line");
    });

    test("an export of some days is a part of the chain, which begins and ends with what is in it", async () => {
      const world = await opened();
      for (let day = 2; day <= 6; day++) {
        nowMs = Date.parse(`2026-03-0${day}T12:00:00Z`);
        await world.store.note(LOCAL_ACTOR, { action: "login", outcome: "done", kind: "session", tenantId: "acme" });
      }
      const part = async (query: string) =>
        await checkedExport(linesOf((await world.send("acme.admin", "GET", `${AUDIT}/export?${query}`)).text));
      expect(await part("from=2026-03-03&to=2026-03-05")).toMatchObject({ rows: 2, problems: [], isSigned: true });
      expect(await part("to=2026-01-01")).toMatchObject({ rows: 0, problems: [], isSigned: true });
      expect(await part("from=2027-01-01")).toMatchObject({ rows: 0, problems: [], isSigned: true });
      const of = await world.send("default.owner", "GET", "/api/v1/admin/audit/export");
      expect(await checkedExport(linesOf(of.text))).toMatchObject({ tenantId: null, rows: 1, isSigned: true });
    });

    test("the roles and tokens of a time in the past are those that were there, whatever has changed since", async () => {
      const world = await opened();
      const at = new Date(nowMs).toISOString();
      const asOf = async (query: string) => (await world.send("acme.admin", "GET", `${AUDIT}/as_of?${query}`)).body;
      const before = await asOf(`at=${at}`);
      expect(before.users.length).toBeGreaterThan(5);
      expect(before.tokens.length).toBeGreaterThan(3);
      nowMs += 3_600_000;
      const change = writes(world.store);
      const user = before.users.find((one: any) => one.id === "acme-viewer");
      const token = before.tokens.find((one: any) => one.kind === "project");
      await change.removeUser(user.id);
      await change.changeToken(token.id, (one) => ({ ...one, revokedAtMs: nowMs, permissions: ["debug"] }));
      await change.createUser({ id: "new", tenantId: "acme", name: "New" });
      await change.putMembership({ userId: "new", tenantId: "acme", projectId: "site", role: "developer" });
      const now = await asOf(`at=${new Date(nowMs).toISOString()}`);
      expect(now.users.map((one: any) => one.id)).toContain("new");
      expect(now.users.map((one: any) => one.id)).not.toContain(user.id);
      expect(now.tokens.map((one: any) => one.id)).not.toContain(token.id);
      expect(await asOf(`at=${at}`)).toEqual(before);
      expect((await asOf("at=2026-01-01")).users).toEqual([]);
    });

    test("who could call a model or a route, and in which project, is told apart", async () => {
      const world = await opened();
      const made = await world.send("acme.admin", "POST", "/api/v1/admin/projects/site/tokens", {
        name: "narrow",
        models: ["openai:*"],
        routes: ["chat"],
        tools: ["docs__*"],
      });
      expect(made.status).toBe(201);
      const { id } = made.body;
      const at = new Date(nowMs).toISOString();
      const { tokens } = (await world.send("acme.admin", "GET", `${AUDIT}/as_of?at=${at}`)).body;
      expect(tokens.find((one: any) => one.id === id)).toMatchObject({ routes: ["chat"], tools: ["docs__*"], ip: [] });
      const has = async (query: string) =>
        (await world.send("acme.admin", "GET", `${AUDIT}/as_of?at=${at}&${query}`)).body.tokens.some(
          (one: any) => one.id === id,
        );
      expect(await has("model=openai:gpt-5")).toBe(true);
      expect(await has("model=openai/gpt-5")).toBe(true);
      expect(await has("model=mistral:m")).toBe(false);
      expect(await has("route=chat")).toBe(true);
      expect(await has("route=other")).toBe(false);
      expect(await has("project_id=site")).toBe(true);
      expect(await has("project_id=app")).toBe(false);
    });

    test("an export of the log of calls is in the audit log, and its ordinary pages are not", async () => {
      const world = await opened();
      for (const format of ["json", "csv", "jsonl"])
        expect(
          (await world.send("acme.admin", "GET", `/api/v1/admin/projects/site/logs?format=${format}`)).status,
        ).toBe(200);
      const { data } = await world.store.listAudit({ limit: 10 }, { kind: "call_log" });
      expect(data.map(({ action, note, projectId, actor }) => [action, note, projectId, actor.via])).toEqual([
        ["export", "jsonl", "site", "api"],
        ["export", "csv", "site", "api"],
      ]);
    });

    test("what retention has removed is not made up", async () => {
      const world = await opened();
      const at = new Date(nowMs - 1000).toISOString();
      await world.store.pruneAudit({ doneMs: nowMs + 1, refusedMs: null });
      const { status, body } = await world.send("acme.admin", "GET", `${AUDIT}/as_of?at=${at}`);
      expect([status, body.error.code, body.error.param]).toEqual([409, "conflict", "at"]);
      const future = await world.send("acme.admin", "GET", `${AUDIT}/as_of?at=2030-01-01`);
      expect([future.status, future.body.error.param]).toEqual([400, "at"]);
    });
  });

test("a key from the configuration signs in place of the derived one", async () => {
  const { privateKey } = (await import("node:crypto")).generateKeyPairSync("ed25519");
  const pem = privateKey.export({ format: "pem", type: "pkcs8" });
  const [own, derived] = [auditSigner(pem, new Uint8Array(32)), auditSigner(null, new Uint8Array(32))];
  expect(own.publicKey).not.toBe(derived.publicKey);
  for (const signer of [own, derived]) {
    expect(isSignedBy(signer.publicKey, "said", signer.sign("said"))).toBe(true);
    expect(isSignedBy(signer.publicKey, "said otherwise", signer.sign("said"))).toBe(false);
    expect(isSignedBy("short", "said", signer.sign("said"))).toBe(false);
  }
});
