// What the call store asks of its database: a function for each method of the port (calls.ts), by the connection on which
// it is asked. The drivers of both databases are made of these lists, and add what they do differently.
import type { Kysely } from "kysely";
import { unregisterReplica, registerReplica } from "../database/replicas.ts";
import { facets } from "../search/call-facets.ts";
import { histogram } from "../search/call-histogram.ts";
import { searchCalls } from "../search/log-search.ts";
import { attempts } from "../sums/attempt-sums.ts";
import { rollUpNewest } from "../sums/roll-ups.ts";
import { spent, usage, usageTotals } from "../sums/usage-reads.ts";
import { bindObjects, boundObjects, pruneObjects } from "../vendor-objects.ts";
import { contentKey, countContents, findContents, keepContents, removeContents } from "./call-contents.ts";
import { prune } from "./call-pruning.ts";
import { findCall, lastUses } from "./call-reads.ts";
import type { CallSchema } from "./call-schema.ts";
import { findPlaces } from "./journal-places.ts";

type Db = Kysely<CallSchema>;

/** Additions, and what says how far they have come. */
export const ADDITIONS = { places: findPlaces, keepContents, registerReplica, bindObjects };
/** Other changes. */
export const CHANGES = {
  contentKey,
  removeContents,
  unregisterReplica,
  rollUp: rollUpNewest,
  prune,
  pruneObjects,
};
/** What calls may wait for. */
export const READS = { findContents, countContents, spent, boundObjects };
/** What people ask, which may take long. */
export const REPORTS = { findCall, searchCalls, usage, usageTotals, histogram, lastUses, attempts, facets };

export const CALL_QUERIES = { ...ADDITIONS, ...CHANGES, ...READS, ...REPORTS };

type Queries = Readonly<Record<string, (db: Db, ...args: never[]) => Promise<unknown>>>;
type Asked<Of> = {
  readonly [Name in keyof Of]: Of[Name] extends (db: Db, ...args: infer Args) => infer Answer
    ? (...args: Args) => Answer
    : never;
};

/** A method for each of the queries, which passes its name and its arguments to `ask`. */
export function asked<Of extends Queries>(
  queries: Of,
  ask: (name: keyof Of & string, args: readonly unknown[]) => Promise<unknown>,
): Asked<Of> {
  const methods = Object.keys(queries).map((name) => [name, (...args: unknown[]) => ask(name, args)] as const);
  return Object.fromEntries(methods) as unknown as Asked<Of>;
}

/** Runs the query of this name. */
export function answered(db: Db, name: keyof typeof CALL_QUERIES, args: readonly unknown[]): Promise<unknown> {
  return (CALL_QUERIES[name] as (db: Db, ...all: readonly unknown[]) => Promise<unknown>)(db, ...args);
}
