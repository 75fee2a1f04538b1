// Ids that vendors handed out, in a SQLite file: a model with restarts and restores of a copy, the bound of a tenant, and
// what is left of a project that was removed.
import { afterAll, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { Kysely } from "kysely";
import type { CallStore } from "../../src/store/calls/calls.ts";
import { openSqliteCalls } from "../../src/store/calls/sqlite-calls.ts";
import { openSqliteDatabase } from "../../src/store/sqlite.ts";
import {
  bindObjects,
  boundObjects,
  type VendorObject,
  type VendorObjectSchema,
} from "../../src/store/calls/vendor-objects.ts";
import { ObjectModel, PLACES, type Step, step, steps } from "../contract/store/vendor-objects.suite.ts";
import { drawCount } from "../harness/time/long-run.ts";
import { writes } from "../harness/store-writes.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-objects-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

async function newFile(): Promise<string> {
  const file = join(folder, `objects-${++files}.db`);
  const { store } = await openSqliteDatabase({ file });
  await store.migrate();
  for (const tenantId of ["acme", "other"]) await writes(store).createTenant({ id: tenantId, name: tenantId });
  for (const { tenantId, projectId } of PLACES)
    if (projectId !== "gone") await writes(store).createProject({ id: projectId, tenantId, name: projectId });
  await store.close();
  return file;
}

type FileStep = { readonly kind: "restart" | "copy" | "restore" };
type WorldStep = Step | FileStep;
const isOfFile = (one: WorldStep): one is FileStep => ["restart", "copy", "restore"].includes(one.kind);
const worldSteps: fc.Arbitrary<WorldStep> = fc.oneof(
  { weight: 4, arbitrary: steps },
  fc.record({ kind: fc.constantFrom("restart" as const, "copy" as const, "restore" as const) }),
);

test("[d12.15] a restart forgets nothing, and a restore knows what its copy knew", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(worldSteps, { minLength: 4, maxLength: 14 }), async (all) => {
      const file = await newFile();
      const copy = `${file}.copy`;
      let calls: CallStore = openSqliteCalls({ file });
      let model = new ObjectModel();
      let copied: ObjectModel | null = null;
      for (const one of all) {
        if (!isOfFile(one)) {
          await step(calls, model, one);
          continue;
        }
        await calls.close();
        if (one.kind === "copy") {
          copyFileSync(file, copy);
          copied = model.copied();
        } else if (one.kind === "restore" && copied !== null) {
          for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true });
          copyFileSync(copy, file);
          model = copied.copied();
        }
        calls = openSqliteCalls({ file });
      }
      await step(calls, model, { kind: "find", ids: ["a", "b", "c", "d"], nowMs: 0 });
      await calls.close();
    }),
    { numRuns: drawCount(6, 60) },
  );
}, 240_000);

const objectOf = (idHash: string, expiresMs: number, more: Partial<VendorObject> = {}): VendorObject => ({
  idHash,
  tenantId: "acme",
  projectId: "p",
  providerId: "one",
  credential: "k",
  vendorId: null,
  expiresMs,
  ...more,
});

test("[d12.15] a tenant has a bound, beyond which what expires first makes room, and another tenant keeps its own", async () => {
  const { store, db } = await openSqliteDatabase({ file: await newFile() });
  const table = db as unknown as Kysely<VendorObjectSchema>;
  await bindObjects(table, [objectOf("other", 1, { tenantId: "other", projectId: "r" })], 3);
  for (let number = 1; number <= 5; number++) await bindObjects(table, [objectOf(`id${number}`, number)], 3);
  const known = await boundObjects(table, ["id1", "id2", "id3", "id4", "id5", "other"], 0);
  expect(known.map(({ idHash }) => idHash).toSorted()).toEqual(["id3", "id4", "id5", "other"]);
  await store.close();
});

test("[d12.15] a project that is made again under the name of a removed one knows none of its ids", async () => {
  const { store, db } = await openSqliteDatabase({ file: await newFile() });
  const table = db as unknown as Kysely<VendorObjectSchema>;
  await bindObjects(table, [objectOf("a", 9)]);
  expect(await boundObjects(table, ["a"], 0)).toHaveLength(1);
  await writes(store).removeProject("p");
  await writes(store).createProject({ id: "p", tenantId: "acme", name: "p" });
  expect(await boundObjects(table, ["a"], 0)).toHaveLength(0);
  await store.close();
});
