// How full limits and budgets are: what is used and left, when they reset, and when they will be reached at the present
// rate; and for one of them, who uses it.
import { z } from "zod";
import type { AccountReading, AccountStatus, LimitStore } from "../../../admission/limit-store.ts";
import { periodAt, slidingLengthMs } from "../../../admission/windows.ts";
import { nothingThere, scopeOf, type TenantOrProject } from "../../../auth/grants.ts";
import type { LimitRule, LimitScope } from "../../../core/configured/limit.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { CallScope, UsageDimension, UsageRow } from "../../../store/calls/calls.ts";
import { type AdminOperation, PLACES_BELOW, reading } from "../operation.ts";
import { type AdminCalls, readForEach } from "../report-reads.ts";
import { time, amount, shownRule, shownUnits } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";

const account = z
  .strictObject({
    value: z.string().nullable().meta({
      description:
        "The value with a count of its own where the scope has `*`: those are shown that have used most lately. Null where all share one count.",
    }),
    used: amount.meta({ description: "With what is reserved for calls that run." }),
    reserved: amount.nullable().meta({
      description:
        "The part of `used` that is set aside for calls that run. Null for `concurrency`, and where several gateways count together.",
    }),
    remaining: amount,
    share: z.number().meta({ description: "The used part of the limit; 1 is all of it." }),
    resets_at: time.nullable(),
    hits_at: time.nullable().meta({
      description:
        "Of a budget: when it will be reached at the rate of the last six hours, or at that of its period where this is not known for its scope. The time of the answer where it is reached; null if it resets before, or nothing is used.",
    }),
  })
  .meta({ id: "LimitAccount" });
const SHAPE = {
  id: z.string(),
  name: z.string(),
  kind: z.enum(["limit", "budget"]),
  project_id: z.string().nullable(),
  scope: z.record(z.string(), z.string()),
  metric: z.enum(["requests", "tokens", "concurrency", "usd"]),
  window: z.string().nullable(),
  mode: z.enum(["enforce", "audit"]),
  limit: amount,
  begins_at: time.nullable().meta({ description: "When the budget's period began; null if it has none." }),
  accounts: z.array(account),
};
const states = z
  .strictObject({
    data: z.array(z.strictObject(SHAPE).meta({ id: "LimitState" })).meta({
      description: "The first that will be reached first, then the fullest.",
    }),
    others: z.int().meta({ description: "How many further limits there are." }),
    as_of: time,
  })
  .meta({ id: "LimitStates" });
const consumer = z
  .strictObject({
    dimension: z.enum(["project", "token"]),
    value: z.string().nullable(),
    name: z.string().nullable().meta({ description: "Of an access token; null if it is not known." }),
    calls: z.int(),
    tokens: z.int(),
    cost_usd: z.string(),
  })
  .meta({ id: "LimitConsumer" });
const limitDay = z
  .strictObject({ day: z.string(), calls: z.int(), tokens: z.int(), cost_usd: z.string() })
  .meta({ id: "LimitDay" });
/** A budget without a period may count for years. */
const MOST_DAYS = 100;
const detail = z
  .strictObject({
    ...SHAPE,
    consumers: z.array(consumer).nullable().meta({
      description:
        "Who has used most in the period of a budget. Null for a limit, and where the scope has globs, for which there are no sums.",
    }),
    days: z
      .array(limitDay)
      .nullable()
      .meta({
        description: `What was used on each day in UTC, the last ${MOST_DAYS} of them; null as \`consumers\`.`,
      }),
    as_of: time,
  })
  .meta({ id: "LimitDetail" });

export interface LimitWorld {
  readonly calls: AdminCalls;
  /** `null` when no limits are counted in this process. */
  readonly limits: Pick<LimitStore, "status"> | null;
}

/** The rules that concern a place: a project's own, and those of its tenant that may apply in it. */
export function rulesAt({ limitRules }: Pick<Snapshot, "limitRules">, at: TenantOrProject): readonly LimitRule[] {
  return limitRules
    .rulesIn(at.tenantId)
    .filter(({ projectId }) => at.projectId === null || projectId === null || projectId === at.projectId);
}

export interface AccountState {
  readonly value: string | null;
  readonly status: AccountReading;
  readonly hitsAtMs: number | null;
}
export interface RuleState {
  readonly rule: LimitRule;
  readonly accounts: readonly AccountState[];
}

const MOST_SHOWN = 500;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RECENT_MS = 6 * HOUR_MS;
const MOST_VALUES = 5;

/** The states of rules, at most of the first 500 of them, the most urgent first. */
export async function statesOf(
  world: LimitWorld,
  rules: readonly LimitRule[],
  at: TenantOrProject,
  nowMs: number,
): Promise<readonly RuleState[]> {
  const { limits } = world;
  if (limits === null) return [];
  const recent = rules.some(({ kind }) => kind === "budget") ? await recentUse(world.calls, at, nowMs) : new Map();
  const all = await readForEach(rules.slice(0, MOST_SHOWN), async (rule): Promise<RuleState> => {
    const values = await valuesOf(world.calls, rule, at, nowMs);
    const accounts = await Promise.all(
      values.map(async (value): Promise<AccountState> => {
        const status = await limits.status({ rule, value: value ?? "" });
        return { value, status, hitsAtMs: hitsAt(rule, status, recentOf(rule, recent, at), nowMs) };
      }),
    );
    return { rule, accounts: accounts.toSorted(byUrgency) };
  });
  return all.toSorted((a, b) => byUrgency(a.accounts[0], b.accounts[0]));
}

function byUrgency(a: AccountState | undefined, b: AccountState | undefined): number {
  const hits = (a?.hitsAtMs ?? Infinity) - (b?.hitsAtMs ?? Infinity);
  return Number.isNaN(hits) || hits === 0 ? shareOf(b?.status) - shareOf(a?.status) : hits;
}

const shareOf = (status: AccountStatus | undefined): number =>
  status === undefined ? 0 : status.limit === 0 ? 1 : status.used / status.limit;

/** What a millisecond of the last hours has used, by project; the empty name is all of them. */
type Recent = ReadonlyMap<string, { readonly nano_usd: number; readonly tokens: number }>;

async function recentUse(calls: AdminCalls, at: TenantOrProject, nowMs: number): Promise<Recent> {
  const toMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS + HOUR_MS;
  const fromMs = toMs - HOUR_MS - RECENT_MS;
  const query = { ...scopeOf(at), fromMs, toMs };
  const { data, totals } = await calls.usage({ limit: 1000 }, { ...query, by: ["project"], order: "cost" });
  const elapsedMs = nowMs - fromMs;
  const rate = ({ costNanoUsd, promptTokens, completionTokens }: UsageRow["sums"]) => ({
    nano_usd: Number(costNanoUsd) / elapsedMs,
    tokens: Number(promptTokens + completionTokens) / elapsedMs,
  });
  return new Map([
    ...data.map(({ group: [project], sums }) => [project ?? "", rate(sums)] as const),
    ...(totals === null ? [] : [["", rate(totals)] as const]),
  ]);
}

/** `null` where it is not known for the scope of the rule. A project does not see what others use. */
function recentOf(rule: LimitRule, recent: Recent, at: TenantOrProject): number | null {
  if (rule.kind !== "budget" || Object.keys(rule.scope).length > 0) return null;
  if (rule.projectId === null && at.projectId !== null) return null;
  const used = recent.get(rule.projectId ?? "");
  return used === undefined ? 0 : rule.unit === "nano_usd" ? used.nano_usd : used.tokens;
}

function hitsAt(
  rule: LimitRule,
  { remaining, used }: AccountStatus,
  recent: number | null,
  nowMs: number,
): number | null {
  if (rule.kind !== "budget") return null;
  if (remaining <= 0) return nowMs;
  const [beganMs, endMs] = periodOf(rule, nowMs) ?? [nowMs, MOST_MS];
  const average = nowMs - beganMs < HOUR_MS ? 0 : used / (nowMs - beganMs);
  const rate = recent ?? average;
  const hitMs = rate <= 0 ? Infinity : nowMs + remaining / rate;
  return hitMs >= endMs ? null : Math.round(hitMs);
}

/** The latest time that can be shown. */
const MOST_MS = 8e15;

/** The period of a budget; `null` when it has none. */
function periodOf({ kind, window }: LimitRule, nowMs: number): readonly [beganMs: number, endMs: number] | null {
  return kind !== "budget" || window === null || window === "total" ? null : periodAt(window, nowMs);
}

function beginningOf(rule: LimitRule, nowMs: number): number | null {
  return periodOf(rule, nowMs)?.[0] ?? null;
}

const DIMENSIONS: Readonly<Partial<Record<keyof LimitScope, readonly UsageDimension[]>>> = {
  token: ["token"],
  user: ["end_user"],
  route: ["route"],
  provider: ["provider"],
  model: ["provider", "model"],
  operation: ["operation"],
};

/**
 * The values with counts of their own that have used most lately in the rest of the scope, as far as sums know it, and as
 * far as the reader may see their calls.
 */
async function valuesOf(
  calls: AdminCalls,
  rule: LimitRule,
  at: TenantOrProject,
  nowMs: number,
): Promise<readonly (string | null)[]> {
  const open = (Object.keys(rule.scope) as (keyof LimitScope)[]).filter((key) => rule.scope[key] === "*");
  if (open.length === 0) return [null];
  const by = open.length === 1 ? DIMENSIONS[open[0]!] : undefined;
  if (by === undefined) return [];
  const scope = summedScope(rule, at) ?? scopeOf({ tenantId: at.tenantId, projectId: at.projectId ?? rule.projectId });
  // Whole days, because end users have daily sums.
  const countedFromMs = beginningOf(rule, nowMs) ?? nowMs - Math.max(HOUR_MS, slidingLengthMs(rule));
  const fromMs = Math.floor(countedFromMs / DAY_MS) * DAY_MS;
  const { data } = await calls.usage({ limit: MOST_VALUES }, { ...scope, fromMs, by, order: "tokens" });
  return data.flatMap(({ group }) => (group.every((value) => value !== null) ? [group.join(":")] : []));
}

function stateOf({ rule, accounts }: RuleState, nowMs: number): ThingOf<typeof SHAPE> {
  const shown = (units: number) => shownUnits(rule.unit, units);
  return {
    ...shownRule(rule),
    beginsAtMs: beginningOf(rule, nowMs),
    accounts: accounts.map(({ value, status, hitsAtMs }) => ({
      value,
      used: shown(status.used),
      reserved: rule.unit === "concurrency" || status.reserved === null ? null : shown(status.reserved),
      remaining: shown(status.remaining),
      share: Math.round(shareOf(status) * 10_000) / 10_000,
      resetsAtMs: status.resetsAtMs,
      hitsAtMs,
    })),
  };
}

/** The scope as sums know it; `null` where it has globs. Values with counts of their own are summed together. */
function summedScope({ scope, projectId, tenantId }: LimitRule, at: TenantOrProject): CallScope | null {
  const exact = (Object.entries(scope) as (readonly [string, string])[]).filter(([, value]) => value !== "*");
  if (exact.some(([key, value]) => value.includes("*") || key === "model")) return null;
  const names = {
    token: "tokenId",
    user: "endUser",
    route: "route",
    provider: "provider",
    operation: "operation",
  } as const;
  const within = at.projectId ?? projectId;
  return {
    ...scopeOf({ tenantId, projectId: within }),
    ...Object.fromEntries(exact.map(([key, value]) => [names[key as keyof typeof names], value])),
  };
}

async function usedBy(
  calls: AdminCalls,
  { tokens }: Pick<Snapshot, "tokens">,
  rule: LimitRule,
  at: TenantOrProject,
  nowMs: number,
) {
  const scope = rule.kind === "budget" ? summedScope(rule, at) : null;
  if (scope === null) return { consumers: null, days: null };
  const fromMs = beginningOf(rule, nowMs);
  const query = { ...scope, ...(fromMs !== null && { fromMs }) };
  const firstDayMs = Math.floor(nowMs / DAY_MS) * DAY_MS - (MOST_DAYS - 1) * DAY_MS;
  const dimension = scope.projectId === undefined ? ("project" as const) : ("token" as const);
  const [consumers, days] = await Promise.all([
    calls.usage({ limit: 10 }, { ...query, by: [dimension], order: rule.unit === "nano_usd" ? "cost" : "tokens" }),
    calls.usage({ limit: MOST_DAYS }, { ...query, fromMs: fromMs ?? firstDayMs, by: ["day"], order: "group" }),
  ]);
  const figures = ({ sums }: UsageRow) => ({
    calls: Number(sums.calls),
    tokens: Number(sums.promptTokens + sums.completionTokens),
    costNanoUsd: sums.costNanoUsd,
  });
  return {
    consumers: consumers.data.map((row) => {
      const value = row.group[0] ?? null;
      const name = dimension === "token" && value !== null ? (tokens.get(value)?.name ?? null) : null;
      return { dimension, value, name, ...figures(row) };
    }),
    days: days.data.map((row) => ({ day: row.group[0]!, ...figures(row) })),
  };
}

export function limitStateOperations(world: LimitWorld): readonly AdminOperation[] {
  return PLACES_BELOW.flatMap(({ name: place, base, scopeText }) => {
    const list = reading({
      id: `list${place}LimitStates`,
      path: `${base}/limit_states`,
      tag: "limit_states",
      summary: `List how full the limits and budgets of ${scopeText} are, and when budgets will be reached at the present rate`,
      query: z.strictObject({ kind: z.enum(["limit", "budget"]).optional() }),
      answer: states,
      run: async ({ place: at, query, snapshot, nowMs }) => {
        const rules = rulesAt(snapshot, at!).filter(({ kind }) => query.kind === undefined || kind === query.kind);
        const all = await statesOf(world, rules, at!, nowMs);
        return {
          body: shownAs(states, {
            data: all.map((state) => stateOf(state, nowMs)),
            others: Math.max(0, rules.length - MOST_SHOWN),
            asOfMs: nowMs,
          }),
        };
      },
    });
    const one = reading({
      id: `read${place}LimitState`,
      path: `${base}/limit_states/{id}`,
      tag: "limit_states",
      summary: "Get how full a limit or budget is, and who uses it; by its id",
      answer: detail,
      run: async ({ place: at, params, snapshot, nowMs }) => {
        const rule = rulesAt(snapshot, at!).find(({ id }) => id === params["id"]);
        const [state] = rule === undefined ? [] : await statesOf(world, [rule], at!, nowMs);
        if (rule === undefined || state === undefined) throw nothingThere(`limit or budget ${params["id"]!}`);
        return {
          body: shownAs(detail, {
            ...stateOf(state, nowMs),
            ...(await usedBy(world.calls, snapshot, rule, at!, nowMs)),
            asOfMs: nowMs,
          }),
        };
      },
    });
    return [list, one];
  });
}
