// The queries of the call store, one for each of the methods that `ASKED` of calls.ts lists, and for `findCall`. Drivers ask
// them by name, because a SQLite file answers in a thread.
import type { Kysely } from "kysely";
import { unregisterReplica, registerReplica } from "../database/replicas.ts";
import { facets } from "../search/call-facets.ts";
import { histogram } from "../search/call-histogram.ts";
import { searchCalls } from "../search/log-search.ts";
import { attempts } from "../sums/attempt-sums.ts";
import { spent, usage } from "../sums/usage-reads.ts";
import { bindObjects, boundObjects, pruneObjects } from "./vendor-objects.ts";
import { contentKey, countContents, findContents, keepContents, removeContents } from "./call-contents.ts";
import { prune } from "./call-pruning.ts";
import { findCall, lastUses } from "./call-reads.ts";
import type { CallSchema } from "./call-schema.ts";
import type { AskedMethod, CallStore } from "./calls.ts";
import { findPlaces } from "./journal-places.ts";

type Db = Kysely<CallSchema>;
export type CallQuery = AskedMethod | "findCall";
/** Each has the arguments and the answer of its method. */
type Queries = {
  readonly [Name in AskedMethod]: (db: Db, ...args: Parameters<CallStore[Name]>) => ReturnType<CallStore[Name]>;
};

const QUERIES = {
  places: findPlaces,
  keepContents,
  registerReplica,
  bindObjects,
  contentKey,
  removeContents,
  unregisterReplica,
  prune,
  pruneObjects,
  findContents,
  countContents,
  spent,
  boundObjects,
  findCall,
  searchCalls,
  usage,
  histogram,
  lastUses,
  attempts,
  facets,
} satisfies Queries & { readonly findCall: typeof findCall };

/** Runs the query of this name. */
export function answered(db: Db, name: CallQuery, args: readonly unknown[]): Promise<unknown> {
  return (QUERIES[name] as (db: Db, ...all: readonly unknown[]) => Promise<unknown>)(db, ...args);
}
