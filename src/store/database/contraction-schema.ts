// The table of the contractions that a database has had (contractions.ts), and what makes it.
import type { Kysely } from "kysely";
import { runStatements } from "./run-statements.ts";

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

export const createContractions = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    `create table schema_contraction (
      name text primary key, oldest_step bigint not null, oldest_version text not null
    )`,
  );
