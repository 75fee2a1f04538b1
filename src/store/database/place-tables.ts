// What the tables have in common whose rows belong to a tenant and perhaps to one of its projects or users: foreign keys
// that name the tenant too, so that no row belongs to another tenant's, and unique indexes.
import { type CreateTableBuilder, type Kysely, sql } from "kysely";

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
