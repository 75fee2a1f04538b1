// Names that recur in calls (tenants, tokens, models, ...) are stored once, and calls and sums hold their numbers.
// Numbers are read anew for every batch and every page: a database that was restored from a backup may have given the
// same number to another name.
import { type Kysely, sql } from "kysely";
import type { CallSchema } from "./call-schema.ts";
import { inParts } from "../database/in-parts.ts";

type Db = Kysely<CallSchema>;

const NAMES_AT_ONCE = 400;

export const NO_NAME = 0;

/** The numbers of those names that are known; the absent name is. */
export async function numbersOf(db: Db, names: Iterable<string>): Promise<Map<string, number>> {
  const numbers = new Map([["", NO_NAME]]);
  for (const part of inParts([...names], NAMES_AT_ONCE))
    for (const { number, name } of await db
      .selectFrom("call_name")
      .select(["number", "name"])
      .where("name", "in", part)
      .execute())
      numbers.set(name, Number(number));
  return numbers;
}

/** Gives a number to those that have none. */
export async function numbersFor(db: Db, names: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
  const known = await numbersOf(db, names);
  const missing = [...names].filter((name) => !known.has(name)).toSorted();
  if (missing.length === 0) return known;
  for (const part of inParts(missing, NAMES_AT_ONCE))
    await sql`insert into call_name (name) values ${sql.join(part.map((name) => sql`(${name})`))} on conflict (name) do nothing`.execute(
      db,
    );
  for (const [name, number] of await numbersOf(db, missing)) known.set(name, number);
  return known;
}

/** The names of these numbers. */
export async function namesOf(
  db: Db,
  numbers: Iterable<bigint | number>,
): Promise<(number: bigint | number) => string> {
  const names = new Map<number, string>();
  for (const part of inParts([...new Set([...numbers].map(Number))], NAMES_AT_ONCE))
    for (const { number, name } of await db
      .selectFrom("call_name")
      .select(["number", "name"])
      .where("number", "in", part)
      .execute())
      names.set(Number(number), name);
  return (number) => names.get(Number(number)) ?? "";
}
