// What an import makes has to be valid here. An entry that is not, because the other gateway accepts more than this one,
// is left out, and the report says so about each value of which it was made.
import { literalText } from "../config/expansion.ts";
import { ConfigurationError, type ConfigurationProblem, formatKey } from "../config/problem.ts";
import type { ProviderFamily } from "../providers/settings.ts";
import { parseConfiguration } from "../snapshot/configuration.ts";
import type { OpenReport } from "./report.ts";
import type { SecretFile } from "./secrets.ts";

type Sections = Readonly<Record<string, unknown>>;

/** An entry that is left out can make another one invalid: a route without its provider, a fallback without its route. */
const MAX_ROUNDS = 200;
const FILE_REFERENCE = /\$\{file:[^}]*\}/g;
const NOTHING_SET = { get: () => undefined };

/** Throws ConfigurationError where nothing can be left out to make it valid. */
export function usablePart(
  made: Sections,
  report: OpenReport,
  secrets: readonly SecretFile[],
  families: readonly ProviderFamily[],
): Sections {
  let sections = made;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const problems = problemsOf(sections, secrets, families);
    if (problems.length === 0) return sections;
    const faults = problems.flatMap((problem) => faultOf(problem, sections) ?? []);
    if (faults.length === 0) throw new ConfigurationError(problems);
    for (const { section, key, message } of faults) {
      const place = key === null ? section : `${section}.${key}`;
      report.leaveOut(place, key === null ? [] : targetsOf(sections, section, key), `it is not valid here: ${message}`);
      sections = without(sections, section, key);
    }
  }
  throw new Error("what the import made did not become valid");
}

/**
 * The files of the secrets do not exist yet, so each is checked with the text that it will have. No variable is set: the
 * configuration has to be valid on any machine.
 */
function problemsOf(
  sections: Sections,
  secrets: readonly SecretFile[],
  families: readonly ProviderFamily[],
): readonly ConfigurationProblem[] {
  const text = JSON.stringify(sections, (_, value: unknown) =>
    typeof value === "string" ? value.replaceAll(FILE_REFERENCE, (reference) => textOf(reference, secrets)) : value,
  );
  try {
    parseConfiguration({ file: "the imported configuration", text, families, environment: NOTHING_SET });
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return thrown.problems;
  }
}

function textOf(reference: string, secrets: readonly SecretFile[]): string {
  return literalText(secrets.find(({ name }) => reference.endsWith(`/${name}}`))?.text ?? "");
}

interface Fault {
  readonly section: string;
  /** An entry of a section, or one of its settings; `null` for the whole section. */
  readonly key: string | null;
  readonly message: string;
}

function faultOf({ path, message }: ConfigurationProblem, sections: Sections): Fault | null {
  const section = Object.keys(sections).find((name) => path === name || path.startsWith(`${name}.`));
  if (section === undefined) return null;
  const rest = path.slice(section.length + 1);
  const key = Object.keys(sections[section] as object)
    .filter((name) => isBelow(rest, formatKey(name)))
    .toSorted((a, b) => b.length - a.length)[0];
  return { section, key: key ?? null, message };
}

function isBelow(path: string, key: string): boolean {
  return path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`);
}

/** The targets of a route, by which the report speaks of what stands in them. */
function targetsOf(sections: Sections, section: string, key: string): readonly string[] {
  const entry = section === "routes" ? (sections[section] as Sections | undefined)?.[key] : undefined;
  const targets = (entry as { readonly targets?: readonly unknown[] } | undefined)?.targets ?? [];
  return targets.map((target) => (typeof target === "string" ? target : String((target as Sections)["model"])));
}

function without(sections: Sections, section: string, key: string | null): Sections {
  const entries = Object.entries(sections[section] ?? {}).filter(([name]) => key !== null && name !== key);
  return Object.fromEntries(
    Object.entries(sections).flatMap(([name, value]) => {
      if (name !== section) return [[name, value]];
      return entries.length === 0 ? [] : [[name, Object.fromEntries(entries)]];
    }),
  );
}
