// Prints one answer of the admin API as YAML, for people to read.
import { stringify } from "yaml";
import { isRawNumber, type Json } from "../../core/json.ts";
import { printLine } from "../output.ts";

/** YAML cannot represent numbers of any length, so these are printed as text. */
export function printYaml(value: Json): void {
  printLine(stringify(value, (_key, part: unknown) => (isRawNumber(part) ? part.rawJSON : part)).trimEnd());
}
