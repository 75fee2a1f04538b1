// A change of a JSON text at one place. What is not changed keeps its text byte for byte (wire/json-edit.ts).
import type { Json } from "./json.ts";

export interface JsonEdit {
  /** Names of members and indexes of items, from the outermost value on. */
  readonly path: readonly (string | number)[];
  /** The value that the place gets; undefined removes the member or item, if it is there. */
  readonly value: Json | undefined;
}
