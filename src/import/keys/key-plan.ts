// What LiteLLM's teams and virtual keys become: projects with limits and budgets, and a project token for each key. No
// text of a key is in it, only hashes. https://docs.litellm.ai/docs/proxy/virtual_keys

// Decides (money and limits): Which budget is made of one of LiteLLM's? By: `budgetOf`. Also:
// `without-counterpart.ts` (`OF_USAGE`). Rule: One of the shortest calendar period that is not shorter, with `unpriced:
// allow`. What was spent so far is not taken over.
import type { JsonObject } from "../../core/json.ts";
import { secretSha256 } from "../../auth/tokens/access-token.ts";
import { RESTRICTIONS } from "../../auth/permitted-models.ts";
import { nameOf, namePart } from "../draft.ts";
import { budgetWindow, decimalOf, secondsOf, textOf, textsOf, wholeOf } from "../figures.ts";
import type { ForeignFile, ForeignNode } from "../foreign-file.ts";
import { type Claims, openReport, type ReportLine } from "../report.ts";
import { BUDGETS, KEYS, TEAMS } from "./dump.ts";
import { reportRest } from "./without-counterpart.ts";

export interface PlannedRule {
  readonly kind: "limit" | "budget";
  readonly name: string;
  /** Without its scope. */
  readonly document: JsonObject;
}

export interface PlannedProject {
  readonly id: string;
  readonly name: string;
  readonly rules: readonly PlannedRule[];
}

export interface PlannedKey {
  readonly name: string;
  readonly projectId: string;
  /** Of the key's whole text: LiteLLM stores the same hash. */
  readonly sha256: Uint8Array;
  readonly models: readonly string[];
  readonly routes: readonly string[];
  /** When it expires there; `null` for never. */
  readonly expiresAtMs: number | null;
  readonly rules: readonly PlannedRule[];
  /** Whether an earlier import accepted it: nothing is made of it then. */
  readonly isAccepted: boolean;
}

export interface KeyPlan {
  readonly projects: readonly PlannedProject[];
  readonly keys: readonly PlannedKey[];
  readonly report: readonly ReportLine[];
}

export interface KeyChoices {
  /** The project of keys without a team. */
  readonly projectId: string;
  /** Whether limits and budgets of keys can be set: only those of a token that exists. */
  readonly hasTokens: boolean;
  /** Ids of projects that are there already: those of teams among them keep what they have. */
  readonly existing: ReadonlySet<string>;
  /** SHA-256 of the keys that an earlier import accepted, in hexadecimal digits. */
  readonly accepted: ReadonlySet<string>;
  readonly nowMs: number;
}

type Row = ReadonlyMap<string, ForeignNode>;

interface Team extends PlannedProject {
  readonly models: readonly string[];
  readonly isBlocked: boolean;
}

export function planKeys(foreign: ForeignFile, choices: KeyChoices): KeyPlan {
  const report = openReport(foreign);
  const rowsOf = (table: string): readonly ForeignNode[] => foreign.root.members.get(table)?.items ?? [];
  const teams = teamsOf(rowsOf(TEAMS), choices.existing, report);
  const budgets = new Map(rowsOf(BUDGETS).map((row) => [textOf(row.members.get("budget_id")), row.members]));
  const names = new Set<string>();
  const keys = rowsOf(KEYS).flatMap((row) => keyOf(row, { teams, budgets, names, report, choices }) ?? []);
  reportRest(foreign, report);
  const projects = [...teams.values()].filter(({ isBlocked }) => !isBlocked);
  return {
    projects: projects.map(({ id, name, rules }) => ({ id, name, rules })),
    keys,
    report: report.lines(() => true),
  };
}

function teamsOf(
  rows: readonly ForeignNode[],
  existing: ReadonlySet<string>,
  claims: Claims,
): ReadonlyMap<string, Team> {
  const teams = new Map<string, Team>();
  const ids = new Set<string>();
  for (const row of rows) {
    const { members } = row;
    const teamId = textOf(members.get("team_id"));
    if (teamId === null) continue;
    const alias = textOf(members.get("team_alias"));
    const isBlocked = isTrue(members.get("blocked"));
    if (isBlocked) claims.without(row, "the team is blocked there, so it and its keys are left out");
    const id = freeName(nameOf(alias ?? teamId), ids);
    claims.taken(members.get("blocked"), `projects.${id}`);
    claims.changed(members.get("team_id"), `projects.${id}`, `the team is the project ${id}`);
    claims.taken(members.get("team_alias"), `projects.${id}`);
    claims.changed(members.get("models"), `projects.${id}`, "each key of the team is restricted to them");
    if (existing.has(id))
      for (const column of RULE_COLUMNS)
        claims.without(
          members.get(column),
          `the project ${id} is there already, and keeps the limits and budgets that it has`,
        );
    const rules = existing.has(id) ? [] : rulesOf(members, id, `projects.${id}`, claims);
    const models = textsOf(members.get("models"));
    teams.set(teamId, { id, name: alias ?? teamId.slice(0, 60), models, isBlocked, rules });
  }
  return teams;
}

interface KeyContext {
  readonly teams: ReadonlyMap<string, Team>;
  readonly budgets: ReadonlyMap<string | null, Row>;
  readonly names: Set<string>;
  readonly report: Claims;
  readonly choices: KeyChoices;
}

/** `null` for a key that is valid no more, or cannot be one. */
function keyOf(row: ForeignNode, { teams, budgets, names, report, choices }: KeyContext): PlannedKey | null {
  const { members } = row;
  const team = teams.get(textOf(members.get("team_id")) ?? "");
  const expiresAtMs = timeOf(members.get("expires"));
  const sha256 = hashOf(textOf(members.get("token")));
  const own = textsOf(members.get("models"));
  const allowed = allowedBy(own.includes(ALL_OF_THE_TEAM) ? [] : own, team?.models ?? []);
  const why = reasonAgainst(members, team, expiresAtMs, choices.nowMs, sha256);
  if (why !== null || sha256 === null || allowed === null) {
    report.without(row, why ?? "the key and its team have no model in common");
    return null;
  }
  const projectId = team?.id ?? choices.projectId;
  const name = freeName(nameOf(textOf(members.get("key_alias")) ?? "litellm-key"), names);
  if (choices.accepted.has(Buffer.from(sha256).toString("hex"))) {
    report.without(row, ACCEPTED);
    return { name, projectId, sha256, expiresAtMs, ...restrictions(allowed), rules: [], isAccepted: true };
  }
  const at = `tokens.${name}`;
  report.changed(members.get("token"), at, `the key is the project token ${name} of the project ${projectId}`);
  for (const column of ["key_alias", "team_id", "blocked", "expires"]) report.taken(members.get(column), at);
  report.without(members.get("key_name"), "only the end of a key stands there; a token has a name");
  for (const item of members.get("models")?.items.slice(MOST_NAMES) ?? [])
    report.without(item, `a token is restricted to at most ${MOST_NAMES} models and routes`);
  report.changed(members.get("models"), at, "names of models are routes, and provider/model is provider:model");
  const budgetId = members.get("budget_id");
  report.taken(budgetId, at);
  const settings = new Map([...(budgets.get(textOf(budgetId)) ?? []), ...members]);
  if (!choices.hasTokens)
    for (const column of RULE_COLUMNS)
      report.without(settings.get(column), "limits and budgets of a token can be set once its claim link is redeemed");
  const rules = choices.hasTokens ? rulesOf(settings, name, at, report) : [];
  return { name, projectId, sha256, expiresAtMs, ...restrictions(allowed), rules, isAccepted: false };
}

const ACCEPTED =
  "an earlier import accepted the key, and its token stays as it is, with its restrictions, limits and budgets";

function reasonAgainst(
  members: Row,
  team: Team | undefined,
  expiresAtMs: number | null,
  nowMs: number,
  sha256: Uint8Array | null,
): string | null {
  if (isTrue(members.get("blocked"))) return "the key is blocked there";
  if (team?.isBlocked === true) return "the team of the key is blocked there";
  if (team === undefined && members.has("team_id"))
    return "its team, which bounds what the key may call, is not in the dump";
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return "the key has expired";
  if (members.has("expires") && expiresAtMs === null) return "the time at which the key expires cannot be read";
  return sha256 === null ? "what stands there is neither a key nor its hash" : null;
}

const isTrue = (node: ForeignNode | undefined): boolean => node?.value === "t" || node?.value === "true";

const HASH = /^[0-9a-f]{64}$/;

/** LiteLLM stores SHA-256 in hexadecimal digits; early rows have the key itself. */
function hashOf(text: string | null): Uint8Array | null {
  if (text === null) return null;
  if (HASH.test(text)) return Uint8Array.fromHex(text);
  return /^sk-[\x21-\x7e]{8,250}$/.test(text) ? secretSha256(text) : null;
}

/** `2026-12-31 10:00:00`, in UTC as LiteLLM stores it. */
function timeOf(node: ForeignNode | undefined): number | null {
  const text = textOf(node);
  if (text === null) return null;
  const iso = text.replace(" ", "T");
  const time = Date.parse(/(?:Z|[+-]\d\d(?::?\d\d)?)$/.test(iso) ? iso : `${iso}Z`);
  return Number.isNaN(time) ? null : time;
}

const ALL_OF_THE_TEAM = "all-team-models";
const ALL = "all-proxy-models";
const MOST_NAMES = 100;

/** Whether the names of a key or of a team do not restrict it. */
function areAll(names: readonly string[]): boolean {
  return names.length === 0 || names.includes(ALL) || names.includes("*");
}

/**
 * What a key may call: what its own names and those of its team both allow, because LiteLLM asks both. Empty for every
 * model, and `null` for none.
 */
function allowedBy(own: readonly string[], ofTeam: readonly string[]): readonly string[] | null {
  if (areAll(ofTeam)) return areAll(own) ? [] : own;
  if (areAll(own)) return ofTeam;
  const within = (names: readonly string[], others: readonly string[]): readonly string[] =>
    names.filter((name) => others.some((other) => covers(other, name)));
  const both = new Set([...within(own, ofTeam), ...within(ofTeam, own)]);
  return both.size === 0 ? null : [...both];
}

/** Whether a name, which may end with `*`, stands for the other one too. */
function covers(name: string, other: string): boolean {
  return name === other || (name.endsWith("*") && other.startsWith(name.slice(0, -1)));
}

/** Names of models as routes and as models. */
function restrictions(allowed: readonly string[]): Pick<PlannedKey, "models" | "routes"> {
  return {
    models: allowed
      .filter((each) => each.includes("/"))
      .map((each) => each.replace("/", ":"))
      .filter((each) => RESTRICTIONS.model.form.test(each))
      .slice(0, MOST_NAMES),
    routes: [...new Set(allowed.map(routeOf))].slice(0, MOST_NAMES),
  };
}

/** A name with `*` stands for all that it matches, and so do the names of the routes that those became. */
function routeOf(name: string): string {
  if (!name.includes("*")) return nameOf(name);
  const pattern = name.split("*").map(namePart).join("*");
  return RESTRICTIONS.route.form.test(pattern) ? pattern : nameOf(name);
}

const LIMITS = [
  ["rpm_limit", "requests", "minute"],
  ["tpm_limit", "tokens", "minute"],
  ["max_parallel_requests", "concurrency", null],
] as const;
const RULE_COLUMNS = ["rpm_limit", "tpm_limit", "max_parallel_requests", "max_budget", "budget_duration"] as const;
const MOST = 1_000_000_000_000;

function rulesOf(members: Row, id: string, at: string, claims: Claims): readonly PlannedRule[] {
  const limits = LIMITS.flatMap(([column, metric, window]): readonly PlannedRule[] => {
    const node = members.get(column);
    const limit = wholeOf(node, 0, MOST);
    if (limit === null) return [];
    claims.taken(node, `${at}, limits`);
    return [
      {
        kind: "limit",
        name: nameOf(`${id}-${metric}`),
        document: { metric, ...(window !== null && { window }), limit },
      },
    ];
  });
  return [...limits, ...budgetOf(members, id, at, claims)];
}

function budgetOf(members: Row, id: string, at: string, claims: Claims): readonly PlannedRule[] {
  const node = members.get("max_budget");
  const usd = decimalOf(node?.value ?? null, 9);
  if (node === undefined || usd === null) return [];
  const duration = members.get("budget_duration");
  const seconds = secondsOf(duration?.value ?? null);
  const found = duration === undefined ? { window: "total", isSame: true } : budgetWindow(seconds ?? Infinity);
  if (found === null) {
    claims.without(duration, "budgets are for a day, a week, a month or in total");
    claims.without(node, "there is no budget for this period");
    return [];
  }
  claims.changed(node, `${at}, budgets`, "what was spent before the import does not count");
  claims.changed(
    duration,
    `${at}, budgets`,
    found.isSame ? "periods are those of the calendar in UTC" : `the period is a ${found.window} of the calendar`,
  );
  const document = { usd, window: found.window, unpriced: "allow" };
  return [{ kind: "budget", name: nameOf(`${id}-budget`), document }];
}

function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count += 1) name = `${wanted.slice(0, 50)}-${count}`;
  taken.add(name);
  return name;
}
