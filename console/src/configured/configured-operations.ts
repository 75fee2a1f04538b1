// Ids of the admin API's operations on configured objects, with a star for the reach, as `may` takes them, and the request
// that goes back to an earlier version.
import type { ShownRequest } from "../api/command-of.ts";
import type { Noun } from "./noun.ts";

/** In place of an id, for one that does not exist yet; no object can have this name. */
export const NEW_NAME = "~new";

export type Verb = "create" | "replace" | "delete";

export function operationOf(verb: Verb, { operation }: Pick<Noun, "operation">): string {
  return `${verb}*${operation}`;
}

/** Going back to an earlier version, as it is shown and sent. `path` is that of the object. */
export function goingBack(path: string, number: number): ShownRequest {
  const note = new URLSearchParams({ note: `Back to version ${number}` }).toString();
  return { method: "POST", path: `${path}/rollback?${note}`, body: { to: number } };
}
