// Runs each verb on a noun: sends one request, or reads the pages of a list, and prints the result.
import { createInterface } from "node:readline/promises";
import type { Environment } from "../../config/environment.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { cellText, csvLine } from "../../core/text/csv.ts";
import { printError, printJson, printLine, printYaml } from "../output.ts";
import { type AdminClient, type AdminRequest, type GatewayFlags, openAdminClient } from "./client.ts";
import { type InputFlags, readInput } from "./input.ts";
import { USAGE_DIMENSIONS, USAGE_ORDERS } from "../../store/calls/calls.ts";
import { type Noun, type Verb } from "./nouns.ts";
import { printThings } from "../things.ts";

export interface PlaceFlags {
  readonly tenant?: string;
  readonly project?: string;
  /** Of all tenants; for operators. */
  readonly all?: true;
}
export interface NounFlags extends GatewayFlags, PlaceFlags, InputFlags {
  readonly dryRun?: true;
  readonly most?: number;
  readonly role?: string;
  readonly filter?: readonly string[];
  readonly by?: string;
  readonly order?: string;
  readonly csv?: true;
  readonly yes?: true;
  readonly note?: string;
  readonly overrideTests?: string;
}

/** What a command asks of the gateway: the method, the path and what is sent. */
type Asked = Parameters<AdminClient["send"]>;

/** Returns `null` when the answer has been printed already, as JSON. Throws what the client throws. */
export async function asked(
  flags: GatewayFlags,
  environment: Environment,
  ...request: Asked
): Promise<JsonObject | null> {
  const answer = await openAdminClient(flags, environment).send(...request);
  if (flags.json === true) printJson(answer);
  return flags.json === true ? null : isObject(answer) ? answer : {};
}

export async function runVerb(
  noun: Noun,
  verb: Verb,
  id: string | null,
  flags: NounFlags,
  environment: Environment,
): Promise<void> {
  const client = openAdminClient(flags, environment);
  if (verb === "list") return await printList(client, noun, flags);
  const path = pathOf(noun.path, verb === "create" ? null : id, flags, noun.place);
  const request = await requestFor(noun, verb, id, flags);
  if (verb === "delete" && flags.dryRun !== true && flags.yes !== true) await confirmRemoval(noun, id);
  const answer = await client.send(METHODS[verb], path, request);
  if (flags.json === true) return printJson(answer);
  if (verb === "get") return printYaml(answer);
  printLine(
    `${noun.subject ?? `The ${noun.word}`}${label(noun, id, answer)} ${flags.dryRun === true ? `would be ${DONE[verb]}: this was a dry run.` : `is ${DONE[verb]}.`}`,
  );
  printShownOnce(noun.shownOnce, answer);
}

/** Prints a secret that the gateway has made; a masked one was known before. */
export function printShownOnce(field: string | undefined, answer: Json): void {
  const value = field === undefined || !isObject(answer) ? undefined : answer[field];
  if (typeof value === "string" && !value.startsWith("*** ")) printLine(`Its ${field}, shown only now: ${value}`);
}

/**
 * Asks for confirmation on a terminal. Throws Error when the removal is not confirmed, or when there is no terminal.
 */
async function confirmRemoval({ word, contains }: Noun, id: string | null): Promise<void> {
  if (contains === undefined) return;
  const what = `the ${word} ${id ?? ""} with ${contains}`;
  if (!process.stdin.isTTY)
    throw new Error(`This deletes ${what}. Repeat the command with --yes to confirm, or with --dry-run to check only.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`Delete ${what}? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new Error("Nothing was deleted.");
  } finally {
    terminal.close();
  }
}

const METHODS = { get: "GET", create: "POST", update: "PATCH", replace: "PUT", set: "PUT", delete: "DELETE" } as const;
const DONE = {
  get: "",
  create: "created",
  update: "changed",
  replace: "replaced",
  set: "set",
  delete: "deleted",
} as const;

async function requestFor(
  { named, word }: Noun,
  verb: Exclude<Verb, "list">,
  id: string | null,
  flags: NounFlags,
): Promise<AdminRequest> {
  if (verb === "get") return {};
  const query = {
    dry_run: flags.dryRun === true ? "true" : undefined,
    note: flags.note,
    override_tests: flags.overrideTests,
  };
  if (verb === "delete") return { query };
  const sent = await readInput(flags);
  const name: JsonObject = verb === "create" && named !== null && id !== null ? { [named]: id } : {};
  const own: JsonObject = flags.role === undefined ? {} : { role: flags.role };
  const tenant: JsonObject =
    verb === "create" && word === "project" && flags.tenant !== undefined ? { tenant_id: flags.tenant } : {};
  return { query, body: { ...sent, ...name, ...own, ...tenant } };
}

/** The name under which the resource can be requested again. */
function label({ named }: Noun, id: string | null, answer: Json): string {
  const own = isObject(answer) && typeof answer["id"] === "string" ? answer["id"] : null;
  const shown = named === null ? null : (id ?? own);
  return shown === null ? "" : ` ${shown}${own !== null && own !== shown ? ` (${own})` : ""}`;
}

export const DEFAULT_TENANT = "default";

/** Flags of a command, or the place of a document. */
type Placed = Pick<PlaceFlags, "all"> & Readonly<Partial<Record<"tenant" | "project", string | null>>>;

/** The path of the tenant or project that is named; empty for all of them. */
export function placePath({ tenant, project, all }: Placed, place: Noun["place"] = "either"): string {
  if (all === true || place === "none" || (place === "own" && tenant == null)) return "";
  if (place === "personal" && project == null) return "";
  return project != null && (place === "either" || place === "personal")
    ? `/projects/${pathStep(project)}`
    : `/tenants/${pathStep(tenant ?? DEFAULT_TENANT)}`;
}

/** The path of one thing of a noun in the place that is named, or of all of them. */
export function pathOf(noun: string, id: string | null, at: Placed, place?: Noun["place"]): string {
  return `${placePath(at, place)}/${noun}${id === null ? "" : `/${pathStep(id)}`}`;
}

/** Throws Error for what an address cannot name: `..` would lead to another thing, whether it is encoded or not. */
function pathStep(name: string): string {
  if (/^\.{0,2}$/.test(name)) throw new Error(`${JSON.stringify(name)} cannot be the name of a thing of the gateway.`);
  return encodeURIComponent(name);
}

async function printList(client: AdminClient, noun: Noun, flags: NounFlags): Promise<void> {
  const tenant = noun.word === "project" && flags.tenant !== undefined ? { tenant_id: flags.tenant } : {};
  const path = pathOf(noun.path, null, flags, noun.place);
  const query = { ...tenant, ...filtersOf(flags.filter ?? []), ...grouping(flags) };
  const told: (Json | undefined)[] = [];
  const things = await client.list(
    path,
    query,
    flags.most,
    noun.isWhole === true,
    ({ whole_until: until }) => void told.push(until),
  );
  const wholeUntil = told.at(-1);
  if (typeof wholeUntil === "string") printError(wholeUntilText(wholeUntil, flags));
  if (flags.csv === true) return printCsv(things);
  if (flags.json === true) return printJson(things);
  printThings(noun.columns, things);
}

/** Says of a report of sums what it could not divide. It stands beside the output, which programs read. */
function wholeUntilText(until: string, { by }: NounFlags): string {
  const what =
    by?.split(",").includes("end_user") === true
      ? "calls of end users are kept as sums of days in UTC, so days at the edges count as a whole."
      : "calls are kept as hourly sums, so hours at the edges count as a whole.";
  return `Before ${until}, ${what}`;
}

/** Prints CSV with a column for each field of the group and each sum. */
function printCsv(rows: readonly JsonObject[]): void {
  const flat = rows.map(({ group, ...sums }) => {
    const names = Object.entries(isObject(group) ? group : {});
    return { names, figures: Object.entries(sums).filter(([, value]) => !isObject(value)) };
  });
  const [first] = flat;
  if (first !== undefined) printLine(csvLine([...first.names, ...first.figures].map(([name]) => name)).trimEnd());
  for (const { names, figures } of flat) {
    const cells = [...names, ...figures].map(([, value]) => cellText(value));
    printLine(csvLine(cells, (at) => at >= names.length).trimEnd());
  }
}

/** Throws an Error that names the flag, because the API's own error names its query parameter. */
function grouping({ by, order }: NounFlags): Readonly<Record<string, string>> {
  const odd = by?.split(",").find((word) => !(USAGE_DIMENSIONS as readonly string[]).includes(word));
  if (odd !== undefined)
    throw new Error(
      `--by expects one or more of ${USAGE_DIMENSIONS.join(", ")}, separated by commas. Got ${JSON.stringify(odd.slice(0, 100))}.`,
    );
  if (order !== undefined && !(USAGE_ORDERS as readonly string[]).includes(order))
    throw new Error(`--order expects one of ${USAGE_ORDERS.join(", ")}. Got ${JSON.stringify(order.slice(0, 100))}.`);
  return { ...(by !== undefined && { group_by: by }), ...(order !== undefined && { order }) };
}

/** Filters of a list as its query parameters. Which ones there are, the gateway itself checks. */
export function filtersOf(filters: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    filters.map((text) => {
      const at = text.indexOf("=");
      if (at < 1)
        throw new Error(
          `--filter expects <field>=<value>, such as status_class=5xx. Got ${JSON.stringify(text.slice(0, 100))}.`,
        );
      return [text.slice(0, at), text.slice(at + 1)] as const;
    }),
  );
}
