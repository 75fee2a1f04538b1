// Whether what was said in a call is kept, and otherwise the reason: what the page of a call says in place of a conversation.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { traceTimeOf } from "../../../src/core/ids.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { DAY_MS, HOUR_MS, rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, type AdminWorldOptions, openAdminWorld } from "../../harness/admin.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const CONFIG = `
tenants:
  acme:
    settings: { content_log: { enabled: true, retention_days: 2 } }
projects:
  app:
    settings: { content_log: { enabled: false } }
`;
const sampledOut = `${traceTimeOf(NOW - HOUR_MS)}${"f".repeat(20)}`;
const rows = {
  kept: rowOf({ startedAtMs: NOW - HOUR_MS }),
  missing: rowOf({ startedAtMs: NOW - 2 * HOUR_MS }),
  expired: rowOf({ startedAtMs: NOW - 3 * DAY_MS }),
  explained: rowOf({ startedAtMs: NOW - HOUR_MS, explained: true }),
  off: rowOf({ startedAtMs: NOW - HOUR_MS, projectId: "app" }),
  unsampled: rowOf({ startedAtMs: NOW - HOUR_MS, traceId: sampledOut, tenantId: "beta", projectId: "lab" }),
};
let world: AdminWorld;

async function opened(config: string, more: Pick<AdminWorldOptions, "between"> = {}): Promise<AdminWorld> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-test-"));
  const file = join(folder, "dragoman.yaml");
  writeFileSync(file, config);
  const open = await openAdminWorld({ file, clock: { now: () => NOW, monotonic: () => performance.now() }, ...more });
  rmSync(folder, { recursive: true });
  await open.calls.ingest(Object.values(rows));
  await open.contents.keep([
    { traceId: rows.kept.record.traceId, tenantId: "acme", projectId: "site", expiresMs: NOW + DAY_MS, text: "{}" },
  ]);
  return open;
}
const stateOf = async (at: AdminWorld, tenant: string, name: keyof typeof rows): Promise<unknown> => {
  const path = `/api/v1/admin/tenants/${tenant}/calls/${rows[name].record.traceId}`;
  return (await at.send(`${tenant}.owner`, "GET", path)).body.content;
};

beforeAll(async () => {
  world = await opened(CONFIG);
});
afterAll(() => world.close());

test("the reason is that of the call: kept, not kept yet, deleted after its time, an explanation, or switched off", async () => {
  expect(await stateOf(world, "acme", "kept")).toEqual({
    state: "kept",
    kept_until: new Date(NOW + DAY_MS).toISOString(),
  });
  for (const name of ["missing", "expired", "explained", "off"] as const)
    expect(await stateOf(world, "acme", name)).toEqual({ state: name, kept_until: null });
  expect(await stateOf(world, "beta", "unsampled")).toMatchObject({ state: "off" });
});

test("the share of calls that is kept, and integrations that alone receive it, are reasons too", async () => {
  const sampling = await opened(`
tenants:
  acme: { settings: { content_log: { enabled: true, keep_in: integrations } } }
  beta: { settings: { content_log: { enabled: true, sample: 0.5 } } }
`);
  expect(await stateOf(sampling, "beta", "unsampled")).toMatchObject({ state: "unsampled" });
  expect(await stateOf(sampling, "acme", "missing")).toMatchObject({ state: "elsewhere" });
  await sampling.close();
});

test("[d11.3] what is kept is deleted once the audit log says so, and not where the log cannot be written", async () => {
  let isWritable = false;
  const audited = <T extends unknown[], R>(write: (...args: T) => Promise<R>) => {
    return (...args: T): Promise<R> =>
      isWritable ? write(...args) : Promise.reject(new StoreError("unusable", "The database is away."));
  };
  const own = await opened(CONFIG, {
    between: (store) => ({
      ...store,
      note: audited((...args: Parameters<typeof store.note>) => store.note(...args)),
      change: audited((...args: Parameters<typeof store.change>) => store.change(...args)) as typeof store.change,
    }),
  });
  const remove = (query = "") => own.send("acme.owner", "DELETE", `/api/v1/admin/tenants/acme/content${query}`);
  const rowsOf = async () =>
    (await own.send("acme.owner", "GET", "/api/v1/admin/tenants/acme/audit?kind=call_content")).body.data;
  try {
    expect((await remove()).status).toBe(503);
    expect(await stateOf(own, "acme", "kept")).toMatchObject({ state: "kept" });
    isWritable = true;
    expect((await remove("?dry_run=true")).body).toEqual({ removed: 1 });
    expect([await rowsOf(), await stateOf(own, "acme", "kept")]).toMatchObject([[], { state: "kept" }]);
    expect((await remove()).body).toEqual({ removed: 1 });
    expect(await stateOf(own, "acme", "kept")).not.toMatchObject({ state: "kept" });
    expect(await rowsOf()).toMatchObject([{ action: "remove", outcome: "done", before: { calls: 1 } }]);
  } finally {
    await own.close();
  }
});
