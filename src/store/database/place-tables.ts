// What the tables have in common whose rows belong to a tenant and perhaps to one of its projects or users: foreign keys
// that name the tenant too, so that no row belongs to another tenant's, and unique indexes.
import { type QueryExecutorProvider, sql } from "kysely";

/** Rows are removed with the project or user that they name; one that names none belongs to the tenant. */
export const belongsTo = (owner: "project" | "user", table: string): string =>
  `constraint ${table}_${owner} foreign key (tenant_id, ${owner}_id) references ${owner}s (tenant_id, id) on delete cascade`;

/** Makes these columns, of which one is `project_id`, unique: in two indexes, because nulls are different from each other. */
export const uniqueInPlace = (table: string, columns: readonly string[]): readonly string[] => [
  `create unique index ${table}_in_project on ${table} (${columns.join(", ")}) where project_id is not null`,
  `create unique index ${table}_in_tenant on ${table} (${columns.filter((column) => column !== "project_id").join(", ")}) where project_id is null`,
];

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
