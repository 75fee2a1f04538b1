// The table of the contractions that a database has had (contractions.ts), and what makes it.
import type { Kysely } from "kysely";

/** What a database says about its schema to a program that uses it. */
export interface SchemaReview {
  /** The contractions that were just made. */
  readonly contracted: readonly string[];
  /** Why this program can no longer use the database, and the cure; `null` while it can. */
  readonly refusal: string | null;
}

export interface ContractionSchema {
  readonly schema_contraction: { readonly name: string; readonly oldest_step: bigint; readonly oldest_version: string };
}

export async function createContractions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("schema_contraction")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("oldest_step", "bigint", (column) => column.notNull())
    .addColumn("oldest_version", "text", (column) => column.notNull())
    .execute();
}
