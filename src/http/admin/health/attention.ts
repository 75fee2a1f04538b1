// What needs somebody in a tenant or project: budgets that are about to be reached, limits that refuse many calls,
// providers and routes that fail, guard services that give no verdicts, access tokens that expire, models without a price.
import { counted } from "../../../core/text/counted.ts";
import { z } from "zod";
import { scopeOf, type TenantOrProject } from "../../../auth/grants.ts";
import { type Role, roleAtLeast } from "../../../core/identity.ts";
import type { Configured } from "../../../core/configured/configured.ts";
import type { PolicyDocument } from "../../../policies/policy-settings.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import { type LimitWorld, rulesAt, statesOf } from "./limit-states.ts";
import { type AdminOperation, PLACES_BELOW, reading } from "../operation.ts";
import type { CallFilter } from "../../../store/calls/calls.ts";
import { tagOf } from "../../../store/calls/call-tags.ts";
import { failuresOf, type HealthWorld, isFailing, providersAt, recentFrom } from "./provider-health.ts";
import { readForEach } from "../report-reads.ts";
import { time } from "../schemas.ts";
import { shownAs } from "../shown.ts";

const KINDS = ["budget", "limit", "provider", "route", "guard", "token", "price"] as const;
const answer = z
  .strictObject({
    data: z
      .array(
        z
          .strictObject({
            kind: z.enum(KINDS),
            subject: z.string().meta({
              description:
                "The id of the budget, limit, token or policy with the guard, the name of the provider or route, or `<provider>:<model>`.",
            }),
            text: z.string(),
            at: time.nullable().meta({ description: "When it happens; null if it happens now." }),
          })
          .meta({ id: "Attention" }),
      )
      .meta({ description: "What happens now, then what happens first." }),
    as_of: time,
  })
  .meta({ id: "AttentionList" });

interface Matter {
  readonly kind: (typeof KINDS)[number];
  readonly subject: string;
  readonly text: string;
  readonly atMs: number | null;
}

/** What happens now, or at a time. */
const matter = (kind: Matter["kind"], subject: string, text: string, atMs: number | null = null): readonly Matter[] => [
  { kind, subject, text, atMs },
];

const DAY_MS = 86_400_000;
/** Tokens that end within this time are listed. */
const EXPIRING_MS = 14 * DAY_MS;
const MOST_MATTERS = 100;
/** The limits and budgets that are looked at, and the newest of the calls that one refused. */
const MOST_RULES = 100;
const MOST_LOOKED_AT = 200;
/** The routes with the most calls are looked at. */
const MOST_ROUTES = 20;

type World = LimitWorld & HealthWorld;

/** Finds matters of one kind in a place. */
type Look = (world: World, snapshot: Snapshot, at: TenantOrProject, nowMs: number) => Promise<readonly Matter[]>;

const budgets: Look = async (world, snapshot, at, nowMs) => {
  const rules = rulesAt(snapshot, at).filter(({ kind, mode }) => kind === "budget" && mode === "enforce");
  const states = await statesOf(world, rules, at, nowMs);
  return states.flatMap(({ rule, accounts: [first] }): readonly Matter[] => {
    if (first === undefined || first.hitsAtMs === null) return [];
    const of = first.value === null ? "" : ` of ${JSON.stringify(first.value)}`;
    const name = `The budget ${JSON.stringify(rule.name)}${of}`;
    const isUsedUp = first.hitsAtMs <= nowMs;
    return isUsedUp
      ? matter("budget", rule.id, `${name} is used up.`)
      : matter("budget", rule.id, `${name} will be used up at the present rate.`, first.hitsAtMs);
  });
};

const providers: Look = async (world, snapshot, at, nowMs) => {
  const all = await providersAt(world, snapshot, at, nowMs);
  return all.flatMap(({ id, status, routes: dependants }): readonly Matter[] => {
    if (status !== "down" && status !== "degraded") return [];
    const how = status === "down" ? "does not answer" : "fails often, or some of its models are avoided";
    const names = [...new Set(dependants.map(({ route }) => route.name))];
    return matter(
      "provider",
      id,
      `The provider ${JSON.stringify(id)} ${how}.${sentenceOf("It is a target of", names)}`,
    );
  });
};

/** Limits and budgets that refuse a notable part of all calls, with the routes of these calls. */
const refusals: Look = async ({ calls }, snapshot, at, nowMs) => {
  const fromMs = recentFrom(nowMs);
  const { totals } = await calls.usage({ limit: 1 }, { ...scopeOf(at), fromMs, by: [], order: "group" });
  if (totals === null || !isFailing(Number(totals.calls), Number(totals.errors))) return [];
  const rules = rulesAt(snapshot, at).filter(({ mode }) => mode === "enforce");
  const found = await readForEach(
    rules.slice(0, MOST_RULES),
    async ({ id, kind, name }): Promise<readonly Matter[]> => {
      const filter: CallFilter & { readonly tags: readonly string[] } = {
        ...scopeOf(at),
        outcome: "failed",
        code: kind === "budget" ? "insufficient_quota" : "rate_limit_exceeded",
        tags: [tagOf("limit", id)],
      };
      const { buckets } = await calls.histogram({ filter, edges: [fromMs, nowMs + 1] });
      const refused = Number(buckets[0]?.calls ?? 0n);
      if (!isFailing(Number(totals.errors), refused)) return [];
      const newest = await calls.searchCalls({ limit: MOST_LOOKED_AT }, { ...filter, order: "newest", fromMs });
      const named = [...new Set(newest.data.flatMap(({ route }) => (route === null ? [] : [route])))].toSorted();
      return matter(
        kind,
        id,
        `The ${kind} ${JSON.stringify(name)} refused ${refused} of ${counted(totals.calls, "call")} lately.${sentenceOf("They were calls of", named)}`,
      );
    },
  );
  return found.flat();
};

const MOST_NAMED = 3;

/** Which routes are concerned. */
function sentenceOf(begin: string, names: readonly string[]): string {
  if (names.length === 0) return "";
  const named = names.slice(0, MOST_NAMED).map((name) => JSON.stringify(name));
  const more = names.length - named.length;
  return ` ${begin} ${names.length === 1 ? "the route" : "the routes"} ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`;
}

const routes: Look = async ({ calls }, _snapshot, at, nowMs) => {
  const { data } = await calls.usage(
    { limit: MOST_ROUTES },
    { ...scopeOf(at), fromMs: recentFrom(nowMs), by: ["route"], order: "calls" },
  );
  const used = data.filter(({ group, sums }) => group[0] != null && sums.errors > 0n);
  const found = await readForEach(used, async (row): Promise<readonly Matter[]> => {
    const route = row.group[0]!;
    const failures = await failuresOf(calls, { ...scopeOf(at), route }, nowMs);
    if (!isFailing(Number(row.sums.calls), failures.calls)) return [];
    const of = counted(row.sums.calls, "call");
    return matter("route", route, `${failures.calls} of ${of} of the route ${JSON.stringify(route)} failed lately.`);
  });
  return found.flat();
};

/**
 * Guards whose service gives no verdict, because it fails or because its breaker is open. A few failures, or a notable
 * share of all calls, are enough: what passes unchecked, or is refused without a reason, is never usual.
 */
const guards: Look = async ({ calls }, snapshot, at, nowMs) => {
  // the set was compiled from documents of this type
  const all = snapshot.policies.sourcesOf(at.tenantId) as readonly Configured<PolicyDocument>[];
  const asking = all.filter(
    ({ projectId, document }) =>
      document.guard?.service !== undefined &&
      (at.projectId === null || projectId === null || projectId === at.projectId),
  );
  if (asking.length === 0) return [];
  const fromMs = recentFrom(nowMs);
  const { totals } = await calls.usage({ limit: 1 }, { ...scopeOf(at), fromMs, by: [], order: "group" });
  const found = await readForEach(
    asking.slice(0, MOST_RULES),
    async ({ id, name: known, document }): Promise<readonly Matter[]> => {
      const name = known ?? document.name ?? id;
      const filter = { ...scopeOf(at), tags: [tagOf("guard_failed", name)] };
      const { buckets } = await calls.histogram({ filter, edges: [fromMs, nowMs + 1] });
      const failed = Number(buckets[0]?.calls ?? 0n);
      const share = failed / Math.max(failed, Number(totals?.calls ?? 0n));
      if (failed === 0 || (failed < FEWEST_FAILURES && share < NOTABLE_SHARE)) return [];
      const blocks = document.mode === "enforce" && document.guard!.on_error === "block";
      return matter(
        "guard",
        id,
        `The service of the guard ${JSON.stringify(name)} gave no verdict in ${counted(failed, "call")} lately. What it should have judged ${blocks ? "was refused" : "passed unchecked"}.`,
      );
    },
  );
  return found.flat();
};

/** A guard service that fails as often is not asked for a while. */
const FEWEST_FAILURES = 5;
const NOTABLE_SHARE = 0.2;

const prices: Look = async ({ calls }, _snapshot, at, nowMs) => {
  const fromMs = recentFrom(nowMs) - DAY_MS;
  const { data } = await calls.usage(
    { limit: 1000 },
    { ...scopeOf(at), fromMs, by: ["provider", "model"], order: "calls" },
  );
  return data.flatMap(({ group: [provider, model], sums }): readonly Matter[] => {
    if (sums.unpriced === 0n) return [];
    const target = `${provider ?? ""}:${model ?? ""}`;
    const those = counted(sums.unpriced, "call of the last day has", "calls of the last day have");
    return matter("price", target, `${those} no cost, because no price of ${target} is known.`);
  });
};

/** Only for those who may list the tokens. */
function tokens(
  { tokens: all }: Snapshot,
  { tenantId, projectId }: TenantOrProject,
  role: Role,
  nowMs: number,
): readonly Matter[] {
  if (!roleAtLeast(role, projectId === null ? "admin" : "maintainer")) return [];
  const matters: Matter[] = [];
  for (const { id, name, expiresAtMs, revokedAtMs, ...of } of all.values()) {
    if (of.tenantId !== tenantId || (projectId !== null && of.projectId !== projectId)) continue;
    const isExpiring = revokedAtMs === null && expiresAtMs > nowMs && expiresAtMs - nowMs <= EXPIRING_MS;
    if (isExpiring)
      matters.push(...matter("token", id, `The access token ${JSON.stringify(name)} expires.`, expiresAtMs));
  }
  return matters;
}

/** In the order in which matters of the same time are listed. */
const LOOKS: readonly Look[] = [budgets, refusals, providers, routes, guards, prices];

export function attentionOperations(world: World): readonly AdminOperation[] {
  return PLACES_BELOW.map(({ name: place, base, scopeText }) =>
    reading({
      id: `list${place}Attention`,
      path: `${base}/attention`,
      tag: "attention",
      summary: `List what needs somebody in ${scopeText}: budgets, limits that refuse many calls, failing providers and routes, guard services that give no verdicts, models without a price, and, for those who may list them, access tokens that expire within two weeks`,
      answer,
      run: async ({ place: at, role, snapshot, nowMs }) => {
        const all = await Promise.all(LOOKS.map((look) => look(world, snapshot, at!, nowMs)));
        const expiring = tokens(snapshot, at!, role, nowMs);
        const matters = [...all.flat(), ...expiring].toSorted((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0));
        return { body: shownAs(answer, { data: matters.slice(0, MOST_MATTERS), asOfMs: nowMs }) };
      },
    }),
  );
}
