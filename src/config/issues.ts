// Translates zod's issues into messages for the author of the file: position, path, what was expected and what kind of
// value is there.
import { z } from "zod";
import { formatKey, MAX_PROBLEMS, type ConfigurationProblem, type Finding, type Path } from "./problem.ts";
import { didYouMean } from "./suggestion.ts";
import type { YamlDocument } from "./yaml-document.ts";

type Issue = z.core.$ZodIssue;
/** A problem for which zod has no issue, with the gateway's own message. */
interface OwnIssue {
  readonly code: "finding";
  readonly path: PropertyKey[];
  readonly message: string;
}
type JsonSchema = z.core.JSONSchema.BaseSchema;

export function issueProblems(
  issues: readonly Issue[],
  value: unknown,
  schema: z.ZodType,
  document: YamlDocument,
): readonly ConfigurationProblem[] {
  return issueFindings(issues, value, schema).map(({ path, message }) => document.problemAt(path, message));
}

/** The same without a position, for values that did not come from a file. At most `MAX_PROBLEMS`. */
export function issueFindings(issues: readonly Issue[], value: unknown, schema: z.ZodType): readonly Finding[] {
  let shape: JsonSchema | undefined;
  const shapeAt = (path: Path): JsonSchema | undefined =>
    walk((shape ??= z.toJSONSchema(schema, { io: "input", unrepresentable: "any" })), path);
  const findings: Finding[] = [];
  for (const issue of issues.flatMap((each) => flatten(each, valueAt(value, each.path as Path)))) {
    if (findings.length >= MAX_PROBLEMS) break;
    const path = issue.path as Path;
    if (issue.code === "unrecognized_keys") {
      const known = keysOf(shapeAt(path));
      for (const key of issue.keys.slice(0, MAX_PROBLEMS))
        findings.push({
          path: [...path, key],
          message: `unknown key ${JSON.stringify(formatKey(key))}${didYouMean(key, known)}`,
        });
    } else findings.push({ path, message: messageOf(issue, valueAt(value, path)) + otherKey(issue, path, shapeAt) });
  }
  return findings;
}

/** The keys of a mapping, or of all mappings among several forms. */
function keysOf(shape: JsonSchema | undefined): readonly string[] {
  return [shape, ...((shape?.anyOf ?? []) as readonly JsonSchema[])].flatMap((form) =>
    Object.keys(form?.properties ?? {}),
  );
}

/** In a mapping that accepts any key, a mistyped known key appears as a value of the wrong type. */
function otherKey(issue: Issue | OwnIssue, path: Path, shapeAt: (path: Path) => JsonSchema | undefined): string {
  const key = path.at(-1);
  const own =
    issue.code === "invalid_type" && typeof key === "string"
      ? Object.keys(shapeAt(path.slice(0, -1))?.properties ?? {})
      : [];
  return typeof key === "string" && !own.includes(key) ? didYouMean(key, own) : "";
}

/** For a value that may have one of several forms, only issues of the form with the matching type are reported. */
function flatten(issue: Issue, value: unknown): readonly (Issue | OwnIssue)[] {
  if (issue.code !== "invalid_union") return [issue];
  const forms = issue.errors.filter((form) => form.every((each) => otherForm(each) === null));
  if (forms.length !== 1) {
    const expected = issue.errors.flat().flatMap((each) => otherForm(each) ?? []);
    return [
      {
        code: "finding",
        path: issue.path,
        message:
          expected.length === 0
            ? issue.message
            : `expected ${[...new Set(expected)].join(" or ")}, got ${kindOf(value)}`,
      },
    ];
  }
  return forms[0]!.flatMap((each) =>
    flatten({ ...each, path: [...issue.path, ...each.path] }, valueAt(value, each.path as Path)),
  );
}

/** What the form is, where that is another type or a single word; `null` where the value has the form, with faults. */
function otherForm(issue: Issue): string | null {
  if (issue.path.length > 0) return null;
  if (issue.code === "invalid_type") return nounOf(issue.expected);
  return issue.code === "invalid_value" && issue.values.length === 1 ? String(issue.values[0]) : null;
}

function messageOf(issue: Issue | OwnIssue, value: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return value === undefined
        ? `is missing: expected ${nounOf(issue.expected)}`
        : `expected ${nounOf(issue.expected)}, got ${kindOf(value)}${formHint(issue.expected, value)}`;
    case "invalid_value":
      return `expected one of ${issue.values.join(", ")}${typeof value === "string" ? didYouMean(value, issue.values.map(String)) : `, got ${kindOf(value)}`}`;
    case "too_small":
      if (issue.origin === "string" && issue.minimum === 1) return "expected a non-empty text";
      return `expected ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${unitOf(issue.origin)}`;
    case "too_big":
      return `expected ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${unitOf(issue.origin)}`;
    case "invalid_key":
    case "invalid_element":
      return issue.issues.map((each) => each.message).join("; ");
    default:
      // The schema's own message: each format check has one, and none quotes the value.
      return issue.message;
  }
}

function nounOf(expected: string): string {
  if (expected === "object" || expected === "record") return "a mapping";
  if (expected === "array") return "a list";
  if (expected === "int") return "a whole number";
  return expected === "boolean" ? "true or false" : expected;
}

/** A list in place of a mapping is a common mistake in files that name their members by key. */
function formHint(expected: string, value: unknown): string {
  return nounOf(expected) === "a mapping" && Array.isArray(value)
    ? "; write its members as `key: value`, without dashes"
    : "";
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number" && !Number.isInteger(value))
    return Number.isFinite(value) ? "a fraction" : "a number that is not finite";
  return typeof value === "object" ? "a mapping" : typeof value;
}

function unitOf(origin: string): string {
  if (origin === "string") return " characters";
  return origin === "array" || origin === "set" || origin === "map" ? " entries" : "";
}

/** The value at `path`; the whole of a text that the schema has divided into what stands there. */
function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((node, step) => {
    if (typeof node === "string") return node;
    return typeof node === "object" && node !== null && Object.hasOwn(node, step)
      ? (node as Record<string | number, unknown>)[step]
      : undefined;
  }, value);
}

/** The schema of the value at `path`. */
function walk(schema: JsonSchema, path: Path): JsonSchema | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return schema;
  const forms = [schema, ...((schema.anyOf ?? []) as readonly JsonSchema[])];
  for (const form of forms) {
    const next = typeof step === "number" ? form.items : (form.properties?.[step] ?? form.additionalProperties);
    if (typeof next === "object" && !Array.isArray(next)) return walk(next, rest);
  }
  return undefined;
}
