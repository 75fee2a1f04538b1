// `dragoman export`: writes the content of the gateway's database as documents that `dragoman apply` reads. Secrets are
// placeholders for the stored ones.
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Environment } from "../../config/environment.ts";
import { literalText } from "../../config/expansion.ts";
import { withTexts } from "../../core/json.ts";
import { type AdminClient, type GatewayFlags, openAdminClient } from "../admin/client.ts";
import { DEFAULT_TENANT, type PlaceFlags } from "../admin/run.ts";
import { unfinishedPath } from "../../store/copies/unfinished-file.ts";
import { printJson, printLine, printYaml } from "../output.ts";
import { type Kind, KINDS, KINDS_IN_PROJECT, KINDS_IN_TENANT } from "./documents.ts";
import { type AppliedPlace, readActualState } from "./gateway-state.ts";
import type { ActualState } from "./plan.ts";

export interface ExportFlags extends GatewayFlags, PlaceFlags {
  readonly output?: string;
  readonly all?: true;
}

export async function exportDocuments(flags: ExportFlags, environment: Environment): Promise<void> {
  const client = openAdminClient(flags, environment);
  const found = await statesOf(client, flags);
  const all = found
    .filter(({ origin, kind, spec }) => origin === "store" && (kind !== "settings" || Object.keys(spec).length > 0))
    .toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  const documents = all.map(documentOf);
  if (flags.output !== undefined)
    return writeFolder(flags.output, all, flags.project === undefined ? KINDS : KINDS_IN_PROJECT, flags.json === true);
  if (flags.json === true) return printJson(documents);
  for (const one of documents) {
    printLine("---");
    printYaml(one);
  }
}

async function statesOf(
  client: AdminClient,
  { project, tenant = DEFAULT_TENANT, all }: ExportFlags,
): Promise<readonly ActualState[]> {
  if (project !== undefined) return await ofPlace(client, KINDS_IN_PROJECT, { tenant: null, project });
  if (all !== true) return await ofTenant(client, tenant);
  const found: ActualState[] = [];
  for (const { id } of await readActualState(client, "tenant", { tenant: null, project: null }))
    found.push(...(await ofTenant(client, id)));
  return found;
}

async function ofTenant(client: AdminClient, tenant: string): Promise<readonly ActualState[]> {
  const own = (await readActualState(client, "tenant", { tenant: null, project: null })).filter(
    ({ id }) => id === tenant,
  );
  const inTenant = await ofPlace(client, KINDS_IN_TENANT, { tenant, project: null });
  const projects = inTenant.filter(({ kind }) => kind === "project");
  const inProjects: ActualState[] = [];
  for (const { id } of projects)
    inProjects.push(...(await ofPlace(client, KINDS_IN_PROJECT, { tenant: null, project: id })));
  return [...own, ...inTenant, ...inProjects];
}

async function ofPlace(
  client: AdminClient,
  kinds: readonly Kind[],
  place: AppliedPlace,
): Promise<readonly ActualState[]> {
  const found: ActualState[] = [];
  for (const kind of kinds) found.push(...(await readActualState(client, kind, place)));
  return found;
}

function documentOf({ kind, tenant, project, name, spec }: ActualState): object {
  return {
    kind,
    ...(tenant !== null && { tenant }),
    ...(project !== null && { project }),
    ...(kind !== "settings" && { name }),
    // a text stands for itself, not for what `apply` would read from the environment or a file for it
    spec: withTexts(spec, literalText),
  };
}

/**
 * Writes one file for each kind. That of an earlier export is removed where there is nothing of its kind any more. An export
 * that does not end leaves the earlier one as it was: the beginning of a file would look like a whole one to `apply`.
 */
function writeFolder(folder: string, all: readonly ActualState[], kinds: readonly Kind[], isJson: boolean): void {
  mkdirSync(folder, { recursive: true });
  const ofKinds = Map.groupBy(all, (one) => one.kind);
  const files = kinds.map((kind) => {
    const file = join(folder, `${kind.replace("_", "-")}.yaml`);
    return { file, unfinished: unfinishedPath(file), some: ofKinds.get(kind) ?? [] };
  });
  const written = files.filter(({ some }) => some.length > 0);
  const gone = files.filter(({ file, some }) => some.length === 0 && existsSync(file));
  try {
    for (const { unfinished, some } of written)
      writeFileSync(unfinished, some.map((one) => `---\n${stringify(documentOf(one))}`).join(""), { flush: true });
    for (const { file, unfinished } of written) renameSync(unfinished, file);
  } finally {
    for (const { unfinished } of written) rmSync(unfinished, { force: true });
  }
  for (const { file } of gone) rmSync(file);
  const counts = Object.fromEntries([...written, ...gone].map(({ file, some }) => [file, some.length]));
  if (isJson) return printJson(counts);
  for (const [file, count] of Object.entries(counts))
    printLine(`${file}: ${count === 0 ? "removed, because nothing of this kind is left" : count}`);
}
