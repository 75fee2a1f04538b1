// Redacts what is kept of a call. It searches as guards search a request, and more: the kept copy need not work as a
// request, so that ids, names of functions, names of members and numbers are searched as well, and JSON within a text
// is searched with its escapes decoded.
import type { Found } from "../../guards/guarded-text.ts";
import type { Json } from "../../core/json.ts";
import { isWord } from "./content-size.ts";
import { type KindOf, mapMessage, namesAndNumbers } from "../guards/guarded-values.ts";
import type { TextGuard } from "../guards/text-guard.ts";

export function redactedValues(values: readonly Json[], guard: TextGuard): readonly Json[] {
  const read: TextGuard = Object.assign(
    (text: string, kind: "plain" | "json", across?: readonly Found[]) =>
      guard(text, isEscapedJson(text) ? "json" : kind, across),
    guard.divided === undefined ? {} : { divided: guard.divided },
  );
  return values.map((value) => namesAndNumbers(mapMessage(value, read, kindOf), read));
}

const kindOf: KindOf = (name, owner) => {
  if (name === "arguments") return "json";
  return (name === "role" || name === "type") && isWord(owner[name]) ? "skip" : "plain";
};

function isEscapedJson(text: string): boolean {
  return text.includes("\\") && /^\s*[{["]/.test(text);
}
