// `dragoman import litellm-keys <dump>`: takes over teams and virtual keys of LiteLLM's database, in one change of ours:
// teams are projects, and keys become tokens by claim links, or stay valid by their hash until a day.
import { z } from "zod";
import { counted } from "../../core/text/counted.ts";
import { keptUser } from "../../auth/logins/kept-identity.ts";
import { newSessionSecret } from "../../auth/logins/console-sessions.ts";
import { acceptForeignKey } from "../../auth/tokens/token-admin.ts";
import type { Environment } from "../../config/environment.ts";
import { readConfigText } from "../../config/file.ts";
import { SCOPE_ID } from "../../config/sections.ts";
import { systemClock } from "../../core/clock.ts";
import { newSpanId } from "../../core/ids.ts";
import { parseDump } from "../../import/keys/dump.ts";
import {
  type KeyChoices,
  type KeyPlan,
  planKeys,
  type PlannedKey,
  type PlannedRule,
} from "../../import/keys/key-plan.ts";
import { countOf } from "../../import/report.ts";
import { COMMAND_LINE } from "../../store/records.ts";
import type { Writer } from "../../store/writer.ts";
import { type DatabaseFlags, withDatabase } from "./database.ts";
import { printReportLines } from "../import.ts";
import { printJson, printLine, printTable } from "../output.ts";

export interface ImportKeysFlags extends DatabaseFlags {
  readonly tenant: string;
  readonly project: string;
  readonly acceptForeignKeys?: true;
  readonly until?: string;
  readonly claimLinks?: string;
}

const MAX_DUMP_BYTES = 64 * 1024 * 1024;
const DAY_MS = 86_400_000;
const LINK_HOURS = 168;

/** What was made of a key; its link is shown this once. */
interface Given {
  readonly name: string;
  readonly project: string;
  /** `null` for a key that was accepted by an earlier import. */
  readonly token: string | null;
  readonly link: string | null;
}

/** Throws ConfigurationError for the dump, and Error for options that do not fit. */
export async function importKeys(file: string, flags: ImportKeysFlags, environment: Environment): Promise<void> {
  const nowMs = systemClock.now();
  const untilMs = untilOf(flags, nowMs);
  const consoleAddress = consoleOf(flags);
  if (!SCOPE_ID.test(flags.project)) throw new Error("--project: expected the id of a project");
  const dump = parseDump(file, readConfigText(file, null, MAX_DUMP_BYTES));
  const planFor = (there: Existing): KeyPlan =>
    planKeys(dump, { projectId: flags.project, hasTokens: untilMs !== null, ...there, nowMs });
  const { plan, given } =
    untilMs === null && consoleAddress === null
      ? { plan: planFor({ existing: new Set(), accepted: new Set() }), given: null }
      : await write(planFor, flags, environment, { untilMs, consoleAddress, nowMs });
  if (flags.json === true) printJson({ ...countOf(plan.report), keys: given ?? [], report: plan.report });
  else print(plan, given);
}

/** The end of the day of `--until` in UTC; `null` where no key is to stay valid. */
function untilOf({ acceptForeignKeys, until, claimLinks }: ImportKeysFlags, nowMs: number): number | null {
  if (acceptForeignKeys !== true) {
    if (until !== undefined) throw new Error("--until belongs to --accept-foreign-keys");
    return null;
  }
  if (claimLinks !== undefined)
    throw new Error(
      "--accept-foreign-keys and --claim-links exclude each other: a key stays valid, or becomes a new one",
    );
  if (until === undefined || !z.iso.date().safeParse(until).success)
    throw new Error(
      "--accept-foreign-keys needs --until <date>, the last day in UTC on which the keys are valid, such as 2030-01-31",
    );
  const endMs = Date.parse(until) + DAY_MS;
  if (endMs <= nowMs) throw new Error(`--until ${until} has passed; name a day that is still to come`);
  return endMs;
}

function consoleOf({ claimLinks }: ImportKeysFlags): string | null {
  if (claimLinks === undefined) return null;
  if (!URL.canParse(claimLinks) || !/^https?:$/.test(new URL(claimLinks).protocol))
    throw new Error(
      "--claim-links: expected the address at which browsers reach the gateway, such as https://gateway.example.com",
    );
  const { origin, pathname } = new URL(claimLinks);
  return origin + pathname.replace(/\/+$/, "");
}

interface Giving {
  readonly untilMs: number | null;
  readonly consoleAddress: string | null;
  readonly nowMs: number;
}

interface Written {
  readonly plan: KeyPlan;
  readonly given: readonly Given[];
}

type Existing = Pick<KeyChoices, "existing" | "accepted">;

/** One transaction: all of it or nothing. What is planned depends on which projects and tokens are there. */
function write(
  planFor: (there: Existing) => KeyPlan,
  flags: ImportKeysFlags,
  environment: Environment,
  giving: Giving,
): Promise<Written> {
  return withDatabase(flags, environment, async ({ store }) => {
    const { projects, tokens } = await store.readIdentities();
    const plan = planFor({
      existing: new Set(projects.map(({ id }) => id)),
      accepted: new Set(
        tokens.flatMap(({ secrets }) => secrets.map(({ sha256 }) => Buffer.from(sha256).toString("hex"))),
      ),
    });
    const { result } = await store.change(COMMAND_LINE, async (writer) => {
      await makeProjects(plan, flags, writer);
      const given: Given[] = [];
      for (const key of plan.keys)
        given.push(key.isAccepted ? nothingFor(key) : await givenFor(key, flags, giving, writer));
      return given;
    });
    return { plan, given: result };
  });
}

/** A project that exists keeps its limits and budgets. */
async function makeProjects(
  { projects, keys }: KeyPlan,
  { tenant, project }: ImportKeysFlags,
  writer: Writer,
): Promise<void> {
  if ((await writer.findTenant(tenant)) === null)
    throw new Error(`there is no tenant ${tenant}; name one with --tenant`);
  const isUsed = keys.some(({ projectId }) => projectId === project);
  if (isUsed && !projects.some(({ id }) => id === project) && (await writer.findProject(project)) === null)
    throw new Error(`there is no project ${project} for the keys without a team; name one with --project`);
  for (const { id, name, rules } of projects) {
    const found = await writer.findProject(id);
    if (found !== null && found.tenantId !== tenant)
      throw new Error(
        `the project ${id} is in the tenant ${found.tenantId}; name the tenant of the teams with --tenant`,
      );
    if (found !== null) continue;
    await writer.createProject({ id, tenantId: tenant, name });
    await makeRules(rules, { tenant, projectId: id }, {}, writer);
  }
}

async function makeRules(
  rules: readonly PlannedRule[],
  { tenant, projectId }: { readonly tenant: string; readonly projectId: string },
  scope: { readonly token?: string },
  writer: Writer,
): Promise<void> {
  for (const { kind, name: wanted, document } of rules) {
    const place = { tenantId: tenant, projectId };
    let name = wanted;
    // a key may be named like its team, and is named like the one that it replaces there
    for (let count = 2; (await writer.findResourceByName(kind, place, name)) !== null; count += 1)
      name = `${wanted.slice(0, 50)}-${count}`;
    await writer.createResource({ kind, ...place, name, document: { name, ...document, scope } });
  }
}

/** A key that an earlier import accepted, and which may have been revoked since. */
const nothingFor = ({ name, projectId }: PlannedKey): Given => ({ name, project: projectId, token: null, link: null });

function givenFor(key: PlannedKey, flags: ImportKeysFlags, giving: Giving, writer: Writer): Promise<Given> {
  return giving.untilMs === null
    ? claimOf(key, flags, giving, writer)
    : accepted(key, giving.untilMs, flags, giving, writer);
}

async function accepted(
  key: PlannedKey,
  untilMs: number,
  { tenant }: ImportKeysFlags,
  { nowMs }: Giving,
  writer: Writer,
): Promise<Given> {
  const { name, projectId, models, routes, sha256 } = key;
  const endsMs = Math.min(untilMs, key.expiresAtMs ?? Infinity);
  const request = { name, projectId, models, routes, expiresInDays: (endsMs - nowMs) / DAY_MS };
  const { id } = await acceptForeignKey(writer, request, sha256, nowMs);
  await makeRules(key.rules, { tenant, projectId }, { token: id }, writer);
  return { name, project: projectId, token: id, link: null };
}

async function claimOf(
  { name, projectId, models, routes, expiresAtMs }: PlannedKey,
  { tenant }: ImportKeysFlags,
  { consoleAddress, nowMs }: Giving,
  writer: Writer,
): Promise<Given> {
  const giver = await ownerOf(tenant, writer);
  const { text: code, hash: codeHash } = newSessionSecret();
  const ends = expiresAtMs === null ? {} : { ends_at_ms: expiresAtMs };
  await writer.createClaim({
    id: `clm_${newSpanId()}`,
    codeHash,
    tenantId: tenant,
    projectId,
    request: { name, models: [...models], routes: [...routes], ...ends },
    giver: keptUser(tenant, giver, [], nowMs),
    createdBy: giver,
    createdAtMs: nowMs,
    expiresAtMs: Math.min(nowMs + LINK_HOURS * 3_600_000, expiresAtMs ?? Infinity),
    redeemedAtMs: null,
    tokenId: null,
    revokedAtMs: null,
  });
  return { name, project: projectId, token: null, link: `${consoleAddress!}/console/claim#code=${code}` };
}

/** The right to give tokens is judged again when a link is redeemed, so the giver has to be an owner. */
async function ownerOf(tenantId: string, writer: Writer): Promise<string> {
  const { data } = await writer.listMemberships({ limit: 1 }, { tenantId, projectId: null, role: "owner" });
  const [owner] = data;
  if (owner === undefined) throw new Error(`the tenant ${tenantId} has no owner who could give tokens`);
  return owner.userId;
}

function print({ projects, keys, report }: KeyPlan, given: readonly Given[] | null): void {
  printReportLines(report);
  printLine("");
  if (given === null) {
    printLine(
      `${counted(projects.length, "project")} and ${counted(keys.length, "key")} could be taken over. Nothing was written;`,
    );
    printLine(
      "--accept-foreign-keys --until <date> keeps the keys valid, --claim-links <address> makes a link for each.",
    );
    return;
  }
  printTable(
    ["NAME", "PROJECT", "TOKEN OR LINK"],
    given.map(({ name, project, token, link }) => [name, project, token ?? link ?? "accepted by an earlier import"]),
  );
  const taken = keys.filter(({ isAccepted }) => !isAccepted);
  printLine(`${counted(projects.length, "project")} and ${counted(taken.length, "key")} were taken over.`);
  if (given.some(({ link }) => link !== null))
    printLine(`Each link works once, for ${LINK_HOURS / 24} days, and is shown only now.`);
}
