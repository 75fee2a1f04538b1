// The heads of the audit log's chains as events: each once, and only where somebody receives events.
import { expect, test } from "bun:test";
import { type NewEvent, NO_WEBHOOKS, type Webhook, type WebhookSet } from "../../../src/core/record/event.ts";
import { auditHeads } from "../../../src/observe/webhooks/audit-heads.ts";
import { checkChain } from "../../../src/store/audit/audit-check.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";

/** Webhooks of these tenants, and of what concerns none. */
const receivedBy = (...tenants: readonly (string | null)[]): WebhookSet => ({
  ...NO_WEBHOOKS,
  size: tenants.length,
  recipients: ({ tenantId }) => (tenants.includes(tenantId) ? [{} as Webhook] : []),
});

test("each new head is emitted once, for its tenant, and finds a log that was set back", async () => {
  const { store } = await openSqliteDatabase({ file: ":memory:" });
  await store.migrate();
  const said: NewEvent[] = [];
  let webhooks = receivedBy();
  const heads = auditHeads({ emit: (event) => void said.push(event) }, store, () => webhooks);
  const note = (tenantId: string | null): Promise<void> =>
    store.note(LOCAL_ACTOR, { action: "login", outcome: "done", kind: "session", tenantId });
  await note("acme");
  await heads.report();
  expect(said).toEqual([]);
  webhooks = receivedBy(null, "acme");
  await note(null);
  await heads.report();
  await heads.report();
  expect(said).toMatchObject([
    { type: "audit.head", tenantId: null, projectId: null, data: { sequence: 1 } },
    { type: "audit.head", tenantId: "acme", projectId: null, data: { sequence: 1 } },
  ]);
  expect(new Set(said.map(({ onceKey }) => onceKey)).size).toBe(2);
  await note("acme");
  await heads.report();
  const { sequence, hash } = said[2]!.data as { readonly sequence: number; readonly hash: string };
  expect([said.length, sequence]).toEqual([3, 2]);
  expect((await checkChain(store, "acme", { sequence, hash })).problems).toEqual([]);
  const { store: other } = await openSqliteDatabase({ file: ":memory:" });
  await other.migrate();
  await other.note(LOCAL_ACTOR, { action: "login", outcome: "done", kind: "session", tenantId: "acme" });
  expect((await checkChain(other, "acme", { sequence, hash })).problems).toMatchObject([{ problem: "rewritten" }]);
  await store.close();
  await other.close();
});

test("a head of the same length with another hash is emitted, because the log was written anew", async () => {
  const said: NewEvent[] = [];
  let hash = "one";
  const heads = auditHeads(
    { emit: (event) => void said.push(event) },
    { auditChains: async () => ["acme"], auditHead: async () => ({ sequence: 7, hash }) },
    () => receivedBy("acme"),
  );
  await heads.report();
  await heads.report();
  hash = "other";
  await heads.report();
  expect(said.map(({ data }) => data)).toEqual([
    { sequence: 7, hash: "one" },
    { sequence: 7, hash: "other" },
  ]);
});

test("the head of a log in which nothing happens any more is emitted to the first webhook that receives it", async () => {
  const said: NewEvent[] = [];
  let webhooks = receivedBy("beta");
  const heads = auditHeads(
    { emit: (event) => void said.push(event) },
    { auditChains: async () => ["acme", "beta"], auditHead: async (chain) => ({ sequence: 7, hash: chain }) },
    () => webhooks,
  );
  await heads.report();
  expect(said.map(({ tenantId }) => tenantId)).toEqual(["beta"]);
  webhooks = receivedBy("acme", "beta");
  await heads.report();
  await heads.report();
  expect(said.map(({ tenantId }) => tenantId)).toEqual(["beta", "acme"]);
});
