// What the tables have in common whose rows belong to a tenant and perhaps to one of its projects or users: foreign keys
// that name the tenant too, so that no row belongs to another tenant's, and unique indexes.
import { type CreateTableBuilder, type Kysely, type QueryExecutorProvider, sql } from "kysely";

/** Rows are removed with the project or user that they name; one that names none belongs to the tenant. */
export const belongsTo =
  (owner: "project" | "user", name: string) =>
  <T extends string, C extends string>(table: CreateTableBuilder<T, C>): CreateTableBuilder<T, C> =>
    table.addForeignKeyConstraint(
      `${name}_${owner}`,
      ["tenant_id", `${owner}_id`] as C[],
      `${owner}s`,
      ["tenant_id", "id"],
      (key) => key.onDelete("cascade"),
    );

/** Makes these columns, of which one is `project_id`, unique: in two indexes, because nulls are different from each other. */
export async function createUniqueInPlace(
  db: Kysely<unknown>,
  table: string,
  columns: readonly string[],
): Promise<void> {
  await db.schema
    .createIndex(`${table}_in_project`)
    .unique()
    .on(table)
    .columns([...columns])
    .where(sql.ref("project_id"), "is not", null)
    .execute();
  await db.schema
    .createIndex(`${table}_in_tenant`)
    .unique()
    .on(table)
    .columns(columns.filter((column) => column !== "project_id"))
    .where(sql.ref("project_id"), "is", null)
    .execute();
}

/** Those whose project is still there, in the tenant that it was in. */
export async function ofPresentProjects<One extends { readonly tenantId: string; readonly projectId: string }>(
  tx: QueryExecutorProvider,
  things: readonly One[],
): Promise<readonly One[]> {
  const ids = [...new Set(things.map(({ projectId }) => projectId))];
  const { rows } = await sql<{
    readonly id: string;
    readonly tenant_id: string;
  }>`select id, tenant_id from projects where id in (${sql.join(ids)})`.execute(tx);
  const tenants = new Map(rows.map((row) => [row.id, row.tenant_id]));
  return things.filter(({ projectId, tenantId }) => tenants.get(projectId) === tenantId);
}
