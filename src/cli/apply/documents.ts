// The documents that `dragoman apply` reads and `dragoman export` writes: YAML with a kind, a place, a name and the
// desired fields. `spec` has the same fields as the configuration file and the admin API.
import { readdirSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { parseAllDocuments } from "yaml";
import { type Variables, expand } from "../../config/expansion.ts";
import { readConfigText } from "../../config/file.ts";
import { readSecretFile } from "../../config/secret-file.ts";
import { isObject, type Json, type JsonObject, withTexts } from "../../core/json.ts";
import { type Noun, NOUNS } from "../admin/nouns.ts";
import { DEFAULT_TENANT } from "../admin/run.ts";

/** In the order in which resources are created: each may refer to kinds before it. */
export const KINDS = [
  "tenant",
  "project",
  "user",
  "member",
  "provider",
  "tool_server",
  "price",
  "route",
  "policy",
  "limit",
  "budget",
  "webhook",
  "settings",
] as const;
export type Kind = (typeof KINDS)[number];

/** The noun of the admin API that a kind is. Each has one. */
export const nounOfKind = (kind: Kind): Noun => NOUNS.find(({ word }) => word === kind.replace("_", "-"))!;

export const KINDS_IN_TENANT: readonly Kind[] = KINDS.filter((kind) => kind !== "tenant");
export const KINDS_IN_PROJECT: readonly Kind[] = KINDS.filter((kind) => nounOfKind(kind).place === "either");

export interface DesiredState {
  readonly kind: Kind;
  /** `null` for a tenant itself. */
  readonly tenant: string | null;
  readonly project: string | null;
  /** The word `settings` for settings; the user for a member. */
  readonly name: string;
  readonly spec: JsonObject;
  /** The document's position for messages, such as `routes.yaml:12`. */
  readonly from: string;
}

/**
 * Reads all files: YAML and JSON in folders, in the order of their names; `-` is standard input. Throws an Error that
 * names the file and line.
 */
export async function readDocuments(paths: readonly string[], variables: Variables): Promise<readonly DesiredState[]> {
  const texts = await Promise.all(
    paths.flatMap(filesOf).map(async (file) => ({
      file,
      text: file === "-" ? await Bun.stdin.text() : readConfigText(file, null, MOST_BYTES),
    })),
  );
  const all = texts.flatMap(({ file, text }) => documentsOf(text, file, variables));
  const seen = new Map<string, string>();
  for (const one of all) {
    const key = keyOf(one);
    const other = seen.get(key);
    if (other !== undefined) throw new Error(`${one.from}: ${titleOf(one)} is in ${other} too.`);
    seen.set(key, one.from);
  }
  return all;
}

/** Of one file: an export has all documents of a kind in one. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Hidden files and folders are not read: those of a checkout, and those to which the files of a mounted volume are links. */
function filesOf(path: string): readonly string[] {
  if (path === "-" || !isFolder(path)) return [path];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(ya?ml|json)$/.test(name) && !name.split(sep).some((step) => step.startsWith(".")))
    .toSorted()
    .map((name) => join(path, name))
    .filter((file) => !isFolder(file));
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export function documentsOf(text: string, file: string, variables: Variables): readonly DesiredState[] {
  const parsed = parseAllDocuments(text, { uniqueKeys: true });
  return [...parsed].flatMap((document) => {
    const line = text.slice(0, document.contents?.range?.[0] ?? 0).split("\n").length;
    const from = `${file}:${line}`;
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${file}: ${error.message.split("\n")[0]}`);
    const value = document.toJS({ maxAliasCount: 0 }) as Json;
    return value === null ? [] : [desiredStateOf(value, from, variables)];
  });
}

function desiredStateOf(value: Json, from: string, variables: Variables): DesiredState {
  const fail = (message: string): never => {
    throw new Error(`${from}: ${message}`);
  };
  if (!isObject(value)) return fail("expected a mapping with kind, name and spec.");
  const { kind: word, tenant, project, name, spec = {}, ...rest } = value;
  const kind = KINDS.find((one) => one === word);
  if (kind === undefined)
    return fail(`expected a kind, one of ${KINDS.join(", ")}; got ${JSON.stringify(word ?? null)}.`);
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    return fail(`unknown field ${unknown}; a document has kind, tenant, project, name and spec.`);
  if (!isObject(spec)) return fail("spec must be a mapping.");
  const own = kind === "settings" ? (name ?? "settings") : name;
  if (typeof own !== "string" || own === "") return fail(`${kind} needs a name.`);
  for (const [field, id] of Object.entries({ tenant, project }))
    if (id !== undefined && (typeof id !== "string" || id === "")) return fail(`${field} must be an id.`);
  if (kind === "tenant" && tenant !== undefined) return fail("a tenant cannot have the field tenant.");
  if (project !== undefined && nounOfKind(kind).place !== "either")
    return fail(`a ${kind} cannot have the field project.`);
  if (project !== undefined && tenant !== undefined)
    return fail("tenant and project cannot be combined, because the project implies its tenant; name one of them.");
  return {
    kind,
    tenant: kind === "tenant" || project !== undefined ? null : ((tenant as string | undefined) ?? DEFAULT_TENANT),
    project: (project as string | undefined) ?? null,
    name: own,
    spec: expanded(spec, variables, fail),
    from,
  };
}

/** Replaces `${NAME}` and `${file:/path}` by their values, so that a document need not contain secrets. */
function expanded(spec: JsonObject, variables: Variables, fail: (message: string) => never): JsonObject {
  return withTexts(spec, (given) => {
    const { text, problems } = expand(given, variables, readSecretFile);
    return problems.length > 0 ? fail(`${problems.join("; ")}.`) : text;
  }) as JsonObject;
}

type Named = Pick<DesiredState, "kind" | "tenant" | "project" | "name">;

/** Equal for documents of the same resource. */
export function keyOf({ kind, tenant, project, name }: Named): string {
  return [kind, tenant ?? "", project ?? "", name].join(" ");
}

export function titleOf({ kind, tenant, project, name }: Named): string {
  return `${kind}${kind === "settings" ? "" : ` ${name}`}${project !== null ? ` (project ${project})` : tenant !== null ? ` (tenant ${tenant})` : ""}`;
}
