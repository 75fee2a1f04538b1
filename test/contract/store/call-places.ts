// Databases for tests of the stores of calls, with tenants and projects of which contents are kept.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import type { Store } from "../../../src/store/store.ts";
import { writes } from "../../harness/store-writes.ts";

/** Of which contents are kept. */
export async function addPlaces(store: Store): Promise<void> {
  for (const [tenantId, projects] of [
    ["acme", ["p", "q"]],
    ["other", ["r"]],
  ] as const) {
    await writes(store).createTenant({ id: tenantId, name: tenantId });
    for (const id of projects) await writes(store).createProject({ id, tenantId, name: id });
  }
}

/** Each call of the result makes a file with these places and no calls. */
export function furnishedFiles(folder: string): () => Promise<string> {
  let files = 0;
  let first: Promise<string> | null = null;
  const furnish = async (): Promise<string> => {
    const file = join(folder, "furnished.db");
    const { store } = await openSqliteDatabase({ file });
    await store.migrate();
    await addPlaces(store);
    await store.close();
    return file;
  };
  return async () => {
    const file = join(folder, `calls-${++files}.db`);
    copyFileSync(await (first ??= furnish()), file);
    return file;
  };
}
