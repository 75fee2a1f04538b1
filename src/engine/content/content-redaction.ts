// Redacts what is kept of a call. It searches as guards search a request, and more: the kept copy need not work as a
// request, so that ids, names of functions, names of members and numbers are searched as well, and JSON within a text
// is searched with its escapes decoded.
import { workOf } from "../../guards/compile-guard.ts";
import { unscopedGuard } from "../../guards/guard-search.ts";
import type { ContentRules } from "../../core/configured/content.ts";
import type { Guard, GuardPolicy, ProjectPolicies } from "../../core/configured/policy.ts";
import type { GuardScheduler } from "../guards/guard-scheduler.ts";
import type { Found } from "../../guards/guarded-text.ts";
import type { Json } from "../../core/json.ts";
import { isWord } from "./content-size.ts";
import { opaque, SEALED } from "../guards/guard-request.ts";
import { type KindOf, mapMessage, namesAndNumbers } from "../guards/guarded-values.ts";
import { textGuard, type TextGuard } from "../guards/text-guard.ts";

export function redactedValues(values: readonly Json[], guard: TextGuard): readonly Json[] {
  const read: TextGuard = Object.assign(
    (text: string, kind: "plain" | "json", across?: readonly Found[]) =>
      guard(text, isEscapedJson(text) ? "json" : kind, across),
    guard.divided === undefined ? {} : { divided: guard.divided },
    guard.ofName === undefined ? {} : { ofName: guard.ofName },
  );
  return values.map((value) => namesAndNumbers(mapMessage(value, read, kindOf), read));
}

/** Members that may hold a file. */
const FILES: ReadonlySet<string> = new Set(["url", "image_url", "file_url", "file_data"]);
/** A file and nothing else, whatever its bytes say. */
const FILE = /^data:[\w.+-]+\/[\w.+-]+(?:;[\w.+-]+=[\w.+-]+)*;base64,[A-Za-z0-9+/_=-]*$/;

/** What is kept is sent again: a chance match would break an image, or what a vendor has encrypted. */
const kindOf: KindOf = (name, owner) => {
  if (name === "arguments") return "json";
  const value = owner[name];
  if (FILES.has(name) && typeof value === "string" && FILE.test(value)) return "file";
  if (SEALED.has(name) && opaque(value) === "skip") return "skip";
  return (name === "role" || name === "type") && isWord(owner[name]) ? "skip" : "plain";
};

function isEscapedJson(text: string): boolean {
  return text.includes("\\") && /^\s*[{["]/.test(text);
}

/** The cost of searching an empty text, in characters. */
const EACH_TEXT = 16;

/** Returns the values as they may be kept, searched in another thread where there is much text. */
export async function redactedForKeeping(
  values: readonly Json[],
  guards: readonly GuardPolicy[],
  scheduler: GuardScheduler,
): Promise<readonly Json[]> {
  if (guards.length === 0 || values.length === 0) return values;
  const visit = (guard: TextGuard): readonly Json[] => redactedValues(values, guard);
  let characters = 0;
  visit((text) => {
    characters += text.length + EACH_TEXT;
    return text;
  });
  // what could not be searched in time is not kept, because these guards block in that case
  return await scheduler.search(guards, characters, visit, (prior) => visit(textGuard(guards, () => {}, prior)));
}

/** Whatever a guard of the project searches for must not be kept, whether the guard masks or blocks. */
export function maskingGuards({ detectors }: ContentRules, policies: ProjectPolicies | null): readonly GuardPolicy[] {
  const own =
    policies === null
      ? []
      : [...new Set([...policies.inputGuards, ...policies.outputGuards])].filter(({ mode }) => mode === "enforce");
  const all: readonly (readonly [string, Guard])[] = [
    [
      "content log",
      {
        onInput: true,
        onOutput: true,
        action: "mask",
        mask: null,
        onError: "block",
        work: workOf(detectors),
        detectors,
        service: null,
      },
    ],
    ...own.map(({ name, guard }) => [name, { ...guard, action: "mask", onError: "block" }] as const),
  ];
  return all
    .filter(([, guard]) => guard.detectors.length > 0 || guard.service !== null)
    .map(([name, guard]) => unscopedGuard({ id: name, name, mode: "enforce", guard }));
}
