// Reads one configuration file: its bytes, its YAML, its schema. All problems are reported in one ConfigurationError,
// in the order of the file.
import type { z } from "zod";
import { boundedBytes } from "./bounded-file.ts";
import type { ReadSecretFile, Variables } from "./expansion.ts";
import { issueProblems } from "./issues.ts";
import { pathFault } from "./path-fault.ts";
import { ConfigurationError, MAX_PROBLEMS, problemIn, type ConfigurationProblem, type Path } from "./problem.ts";
import { parseYaml, type YamlDocument } from "./yaml-document.ts";
import { codeOf } from "../core/thrown.ts";

export const MAX_CONFIG_FILE_BYTES = 1024 * 1024;

/**
 * The text of a file. Throws ConfigurationError when it cannot be read, is not a regular file, is larger than
 * `mostBytes` or is not UTF-8; the error names the setting that names the file, if there is one. Reading
 * blocks the process: it happens at the start and when the file has changed, and takes a millisecond at this size.
 */
export function readConfigText(
  file: string,
  setting: string | null = null,
  mostBytes: number = MAX_CONFIG_FILE_BYTES,
): string {
  const problem = (message: string): ConfigurationError => new ConfigurationError([problemIn(file, message)]);
  const cure = setting === null ? "" : `; name the configuration file with ${setting}`;
  let bytes: Uint8Array | null;
  try {
    bytes = boundedBytes(file, mostBytes);
  } catch (thrown) {
    const fault = pathFault(thrown, file);
    throw problem(`${codeOf(thrown) === "ENOENT" ? "" : "cannot be read: "}${fault}${cure}`);
  }
  if (bytes === null) throw problem(`is not a file${cure}`);
  if (bytes.length > mostBytes) throw problem(`is larger than ${mostBytes} bytes`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw problem("is not UTF-8");
  }
}

export interface ConfigFile<Schema extends z.ZodType> {
  /** The name of the file in problems. */
  readonly file: string;
  readonly text: string;
  readonly schema: Schema;
  readonly environment: Variables;
  /** Reads the files of secrets that the text names; from the disk when absent. */
  readonly readSecret?: ReadSecretFile | undefined;
}

/** The value of a configuration file. An empty text is an empty mapping. Throws ConfigurationError. */
export function readConfigFile<Schema extends z.ZodType>({
  file,
  text,
  schema,
  environment,
  readSecret,
}: ConfigFile<Schema>): z.output<Schema> {
  if (Buffer.byteLength(text) > MAX_CONFIG_FILE_BYTES)
    throw new ConfigurationError([problemIn(file, `is larger than ${MAX_CONFIG_FILE_BYTES} bytes`)]);
  const document = parseYaml(file, text, environment, readSecret);
  const value = document.value ?? {};
  let result = schema.safeParse(value);
  if (!result.success && coerceExpanded(value, result.error.issues, document)) result = schema.safeParse(value);
  const problems = withoutEchoes(document.problems);
  // A part that could not be read is missing in the value, so the schema's problems about that part are left out.
  const known = new Set(problems.map(({ path }) => path));
  if (!result.success && !problems.some(({ path }) => path === "")) {
    for (const problem of issueProblems(result.error.issues, value, schema, document))
      if (!known.has(problem.path)) problems.push(problem);
  }
  if (problems.length > 0)
    throw new ConfigurationError(
      problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)),
    );
  return result.data as z.output<Schema>;
}

/** Keeps only the first problem at each place: the others follow from it. */
function withoutEchoes(problems: readonly ConfigurationProblem[]): ConfigurationProblem[] {
  const byPlace = new Map<string, ConfigurationProblem>();
  for (const problem of problems) {
    const place = `${problem.line}:${problem.column}:${problem.path}`;
    if (!byPlace.has(place)) byPlace.set(place, problem);
  }
  return [...byPlace.values()].slice(0, MAX_PROBLEMS);
}

/**
 * An expansion is always a text, so that a value can never change the structure of the file. Where the schema requires
 * a number or a boolean, the text is converted. A quoted "80" in the file itself stays a text, and is rejected.
 */
function coerceExpanded(value: unknown, issues: readonly z.core.$ZodIssue[], { expanded }: YamlDocument): boolean {
  let coerced = false;
  for (const { path, expected } of wrongTypes(issues, [])) {
    const text = expanded.get(JSON.stringify(path));
    const replacement = text === undefined ? undefined : scalarOf(text.trim(), expected);
    if (replacement === undefined) continue;
    const parent = path
      .slice(0, -1)
      .reduce<unknown>((node, step) => (node as Record<string | number, unknown>)[step], value);
    (parent as Record<string | number, unknown>)[path.at(-1)!] = replacement;
    coerced = true;
  }
  return coerced;
}

/** The values of a wrong type, also in each of the forms that a value may have, and the type that was expected. */
function wrongTypes(
  issues: readonly z.core.$ZodIssue[],
  above: Path,
): readonly { readonly path: Path; readonly expected: string }[] {
  return issues.flatMap((issue) => {
    const path = [...above, ...(issue.path as Path)];
    if (issue.code === "invalid_union") return issue.errors.flatMap((form) => wrongTypes(form, path));
    return issue.code === "invalid_type" ? [{ path, expected: issue.expected }] : [];
  });
}

function scalarOf(text: string, expected: string): number | boolean | undefined {
  if (expected === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  if ((expected === "number" || expected === "int") && /^-?\d{1,20}(\.\d{1,20})?$/.test(text)) return Number(text);
  return undefined;
}
