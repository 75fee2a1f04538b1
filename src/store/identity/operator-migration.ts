// The migration 0015-operators: the right of an operator, and the permission `read_content`. Both are granted to those
// who had the same access before under other rules: owners of the tenant `default` administered the gateway, and
// maintainers could read content. It has been released: never edit it.
import type { Kysely } from "kysely";
import type { JsonObject } from "../../core/json.ts";
import type { Schema } from "../schema.ts";

/** The tenant whose owners administered the gateway. */
const TENANT = "default";
const READERS = ["maintainer", "admin", "owner"];

export async function addOperators(untyped: Kysely<unknown>): Promise<void> {
  for (const [table, column] of [
    ["users", "is_operator"],
    ["resources", "by_operator"],
  ] as const)
    await untyped.schema
      .alterTable(table)
      .addColumn(column, "bigint", (definition) => definition.notNull().defaultTo(0))
      .execute();
  const db = untyped as Kysely<Schema>;
  await db
    .updateTable("users")
    .set({ is_operator: 1n })
    .where("tenant_id", "=", TENANT)
    .where("id", "in", (query) =>
      query
        .selectFrom("memberships")
        .select("user_id")
        .where("tenant_id", "=", TENANT)
        .where("project_id", "is", null)
        .where("role", "=", "owner"),
    )
    .execute();
  // What an admin of the tenant wrote does not count as written by an operator.
  await db
    .updateTable("resources")
    .set({ by_operator: 1n })
    .where("tenant_id", "=", TENANT)
    .where("set_by", "=", "owner")
    .execute();
  await markSteps(db);
  await grantReadContent(db);
}

/** Marks earlier versions too, so that a rollback restores whether an operator wrote a resource. */
async function markSteps(db: Kysely<Schema>): Promise<void> {
  const keys = await db
    .selectFrom("version_changes")
    .select(["version", "ordinal"])
    .where("tenant_id", "=", TENANT)
    .execute();
  for (const { version, ordinal } of keys) {
    const step = await db
      .selectFrom("version_changes")
      .select(["value_before", "value_after"])
      .where("version", "=", version)
      .where("ordinal", "=", ordinal)
      .executeTakeFirstOrThrow();
    await db
      .updateTable("version_changes")
      .set({ value_before: marked(step.value_before), value_after: marked(step.value_after) })
      .where("version", "=", version)
      .where("ordinal", "=", ordinal)
      .execute();
  }
}

function marked(text: string | null): string | null {
  if (text === null) return null;
  const resource = JSON.parse(text) as JsonObject;
  return resource["setBy"] === "owner" ? JSON.stringify({ ...resource, byOperator: true }) : text;
}

async function grantReadContent(db: Kysely<Schema>): Promise<void> {
  const tokens = await db
    .selectFrom("access_tokens")
    .select(["id", "permissions"])
    .where((is) =>
      is.or([
        is.and([is("kind", "=", "project"), is("role", "in", READERS)]),
        is("user_id", "in", (query) => query.selectFrom("memberships").select("user_id").where("role", "in", READERS)),
      ]),
    )
    .execute();
  for (const { id, permissions } of tokens) {
    const values: unknown = JSON.parse(permissions);
    if (!Array.isArray(values)) continue;
    await db
      .updateTable("access_tokens")
      .set({ permissions: JSON.stringify([...(values as readonly unknown[]), "read_content"]) })
      .where("id", "=", id)
      .execute();
  }
}
