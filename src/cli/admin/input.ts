// What a command sends: a document from a file or standard input, and single fields from the command line.
import { parse } from "yaml";
import { readConfigText } from "../../config/file.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { messageOf } from "../../core/thrown.ts";

export interface InputFlags {
  readonly file?: string;
  readonly set?: readonly string[];
}

/** Throws Error for an invalid mapping or an invalid field. */
export async function readInput({ file, set = [] }: InputFlags): Promise<JsonObject> {
  const document =
    file === undefined ? {} : mapping(file === "-" ? await Bun.stdin.text() : readConfigText(file), file);
  return set.reduce(withField, document);
}

function mapping(text: string, file: string): JsonObject {
  let value: unknown;
  try {
    value = parse(text, { uniqueKeys: true, maxAliasCount: 0 });
  } catch (thrown) {
    throw new Error(`${file}: ${messageOf(thrown)}`, { cause: thrown });
  }
  if (!isObject(value)) throw new Error(`${file}: expected one mapping of fields.`);
  return value;
}

/**
 * Sets a field such as `scope.user=*`, `limit=10` or `targets=["openai:gpt-5"]`. The value is YAML, so that numbers,
 * lists and null can be written; a value that is not valid YAML is a text.
 */
function withField(document: JsonObject, field: string): JsonObject {
  const at = field.indexOf("=");
  const path = field.slice(0, at).split(".");
  if (at <= 0 || path.includes(""))
    throw new Error(
      `--set expects <field>=<value>, such as limit=10 or scope.user=*; got ${JSON.stringify(field.slice(0, 100))}.`,
    );
  return placed(document, path, valueOf(field.slice(at + 1)));
}

function valueOf(text: string): Json {
  try {
    return (parse(text, { maxAliasCount: 0 }) ?? (text.trim() === "" ? "" : null)) as Json;
  } catch {
    // Some texts, such as `*`, begin another construct in YAML.
    return text;
  }
}

function placed(document: JsonObject, [name, ...rest]: readonly string[], value: Json): JsonObject {
  if (rest.length === 0) return { ...document, [name!]: value };
  const inside = document[name!];
  return { ...document, [name!]: placed(isObject(inside) ? inside : {}, rest, value) };
}
