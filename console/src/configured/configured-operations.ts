// Ids of the admin API's operations on configured objects, with a star for the reach, as `may` takes them.
import type { Noun } from "./noun.ts";

/** In place of an id, for one that does not exist yet; no object can have this name. */
export const NEW_NAME = "~new";

export type Verb = "create" | "replace" | "delete";

export function operationOf(verb: Verb, { operation }: Pick<Noun, "operation">): string {
  return `${verb}*${operation}`;
}
