// Everything about one call: its record, the verdict on it, what calls of its route are usually like, its cost as a
// sum, the limits that applied by name, and the calls around it.
import { z } from "zod";
import { periodAt } from "../../../admission/windows.ts";
import type { AdminCaller, TenantOrProject } from "../../../auth/grants.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { LimitRule } from "../../../core/configured/limit.ts";
import type { CallRecord } from "../../../core/record/record.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { Integration } from "../../../observe/integrations/integration-settings.ts";
import { traceLinks } from "../../../observe/trace-links.ts";
import type { Provider } from "../../../providers/interface/provider.ts";
import type { CallScope, CallSummary, LogFilter } from "../../../store/calls/calls.ts";
import { tagOf } from "../../../store/calls/call-tags.ts";
import { costOfAll, costSum } from "./call-cost.ts";
import { contentState, contentStateOf } from "./call-content-state.ts";
import { CALL_SHAPE, dated, type DatedCall, findCall, listedCall, recordShape, shownRecord } from "./call-shapes.ts";
import { type UsualCall, VERDICTS, type VerdictFacts, verdictOf } from "./call-verdict.ts";
import type { AdminContents } from "../operation.ts";
import type { AdminCalls } from "../report-reads.ts";
import { orNull, time, amount, shownUnits } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";

const count = z.int();
const calls = z.array(listedCall);

const verdict = z
  .strictObject({
    kind: z.enum(VERDICTS),
    text: z.string().meta({ description: "One sentence that says what decided the call." }),
    notes: z.array(z.string()).meta({ description: "Sentences about what else is out of the ordinary." }),
  })
  .meta({ id: "CallVerdict" });
const usual = z
  .strictObject({
    calls: count.meta({
      description: "How many calls are compared: the last ones before this one that were answered.",
    }),
    cost_usd: z.string().nullable(),
    total_ms: z.number(),
    first_content_ms: z.number().nullable(),
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
  })
  .meta({ id: "UsualCall" });
const costPart = z
  .strictObject({ what: z.string(), units: z.number(), usd_per_million: z.string(), usd: z.string() })
  .meta({ id: "CostPart" });
const attemptCost = z
  .strictObject({
    provider: z.string(),
    model: z.string(),
    price_id: z.string(),
    parts: z.array(costPart),
    cost_usd: z.string().meta({ description: "The sum of the parts, rounded up once to a whole nano-dollar." }),
  })
  .meta({ id: "AttemptCost" });
const cost = z.strictObject({ attempts: z.array(attemptCost), cost_usd: z.string() }).meta({ id: "CallCost" });
const traceLink = z.strictObject({ name: z.string(), url: z.string() }).meta({ id: "TraceLink" });
const limit = z
  .strictObject({
    id: z.string(),
    name: z.string().nullable().meta({ description: "Null if it is not configured any more." }),
    kind: z.enum(["limit", "budget"]).nullable(),
    value: z.string().nullable(),
    metric: z.enum(["requests", "tokens", "concurrency", "usd"]),
    window: z.string().nullable(),
    limit: amount.nullable(),
    before: amount,
    reserved: amount,
    settled: amount.nullable(),
    after: amount,
    refused: z.string().nullable(),
    would_refuse: z.boolean(),
    resets_at: time.nullable().meta({ description: "The end of the budget's period in which the call began." }),
  })
  .meta({ id: "CallLimit" });
const around = z
  .strictObject({
    end_user: calls.meta({ description: "Of the same end user within five minutes." }),
    session: calls.meta({ description: "With the same `session_id` in `metadata`." }),
    error: calls.meta({ description: "With the same error code in the same hour, the first of them." }),
    errors: count.meta({ description: "How many calls have the same error code in the same hour." }),
  })
  .meta({ id: "CallsAround" });

export const callDetail = z
  .strictObject({
    ...CALL_SHAPE,
    verdict: orNull(verdict, "Null, as the following members, if the record is not kept any more."),
    usual: orNull(usual, "Medians of the route's calls in the project; null if there are fewer than five."),
    cost: orNull(cost, "The cost as a sum; null if today's prices do not come to exactly what the call has cost."),
    limits: z.array(limit).nullable(),
    around: orNull(around, "Null if `around=false` was asked for."),
    token_name: z.string().nullable().meta({ description: "Null if the token is not known any more." }),
    trace_links: z.array(traceLink).meta({
      description:
        "Where the trace of the call is shown: by the integrations that have received it and have a `trace_url`.",
    }),
    content: contentState,
    record: recordShape,
  })
  .meta({ id: "CallDetail" });

export const detailQuery = z.strictObject({
  around: z
    .enum(["true", "false"])
    .default("true")
    .meta({ description: "Whether to look for the calls around this one and for those of its route." }),
});

/** What a call is explained with. */
export interface DetailWorld {
  readonly caller: AdminCaller;
  readonly calls: AdminCalls;
  readonly snapshot: Snapshot;
  readonly providers: ReadonlyMap<string, Provider>;
  /** `null` when no content is stored. */
  readonly contents: Pick<AdminContents, "keptUntilMs"> | null;
  readonly nowMs: number;
  readonly integrations: readonly Integration[];
}

export async function shownDetail(
  world: DetailWorld,
  traceId: string,
  at: TenantOrProject | null,
  looksAround: boolean,
): Promise<JsonObject> {
  const found = await findCall(world.calls, traceId, at);
  const { summary, record } = found;
  const [keptUntilMs, usualCalls, neighbours] = await Promise.all([
    world.contents?.keptUntilMs(traceId) ?? null,
    looksAround ? usualOf(world.calls, summary) : null,
    looksAround ? aroundOf(world.calls, summary, record, at) : null,
  ]);
  const judged = record === null ? null : judgedOf(world, summary, record, usualCalls);
  return shownAs(callDetail, {
    ...dated(summary),
    verdict: judged?.verdict ?? null,
    usual: usualCalls,
    cost: judged?.cost ?? null,
    limits: judged?.limits ?? null,
    around: neighbours,
    tokenName: (summary.tokenId === null ? null : world.snapshot.tokens.get(summary.tokenId)?.name) ?? null,
    traceLinks: record === null ? [] : traceLinks(record, world.integrations),
    content: contentStateOf(found, keptUntilMs, world.snapshot, world.nowMs),
    record: shownRecord(record, world.caller),
  });
}

function judgedOf(
  { snapshot, providers }: Pick<DetailWorld, "snapshot" | "providers">,
  { settled }: CallSummary,
  record: CallRecord,
  compared: UsualCall | null,
) {
  const rules = rulesOf(record, snapshot);
  const sum = costSum(record, snapshot, providers);
  const facts: VerdictFacts = {
    record,
    settled,
    rules,
    usual: compared,
    costParts: sum?.flatMap(({ parts }) => parts) ?? [],
  };
  return {
    verdict: verdictOf(facts),
    cost: sum === null ? null : costOfAll(sum),
    limits: record.limits.map((outcome) => limitOf(outcome, rules.get(outcome.id), record.startedAtMs)),
  };
}

function rulesOf(
  { tenantId, projectId, tokenId }: CallRecord,
  { limitRules }: Snapshot,
): ReadonlyMap<string, LimitRule> {
  if (tenantId === null || projectId === null || tokenId === null) return new Map();
  const rules = limitRules.forCaller(tenantId, projectId, tokenId)?.rules ?? [];
  return new Map(rules.map((rule) => [rule.id, rule]));
}

function limitOf(
  outcome: CallRecord["limits"][number],
  rule: LimitRule | undefined,
  atMs: number,
): ThingOf<typeof limit.shape> {
  const { unit } = outcome;
  const shown = (units: number) => shownUnits(unit, units);
  const most = outcome.limit ?? rule?.limit;
  const isPeriod = rule?.kind === "budget" && rule.window !== null && rule.window !== "total";
  return {
    id: outcome.id,
    name: rule?.name ?? null,
    kind: rule?.kind ?? null,
    value: outcome.value === "" ? null : outcome.value,
    metric: unit === "nano_usd" ? "usd" : unit,
    window: rule?.window ?? null,
    limit: most === undefined ? null : shown(most),
    before: shown(outcome.before),
    reserved: shown(outcome.reserved),
    settled: outcome.settled === null ? null : shown(outcome.settled),
    after: shown(outcome.after),
    refused: outcome.refused ?? null,
    wouldRefuse: outcome.wouldRefuse,
    resetsAtMs: isPeriod ? periodAt(rule.window, atMs)[1] : null,
  };
}

const COMPARED = 200;
const FEWEST_COMPARED = 5;

/** The medians of the calls of the route that were answered before this one. */
async function usualOf(
  store: AdminCalls,
  { route, tenantId, projectId, timeMs, operation }: CallSummary,
): Promise<UsualCall | null> {
  if (route === null || tenantId === null || projectId === null) return null;
  const { data } = await store.searchCalls(
    { limit: COMPARED },
    {
      order: "newest",
      tenantId,
      projectId,
      route,
      operation,
      outcome: "ok",
      explained: false,
      mirrored: false,
      toMs: timeMs,
    },
  );
  if (data.length < FEWEST_COMPARED) return null;
  const of = (value: (call: CallSummary) => number | null): number | null =>
    median(data.flatMap((call) => value(call) ?? []));
  return {
    calls: data.length,
    costNanoUsd: of(({ costNanoUsd }) => costNanoUsd),
    totalMs: of(({ totalMs }) => totalMs)!,
    firstContentMs: of(({ firstContentMs }) => firstContentMs),
    promptTokens: of(({ promptTokens }) => promptTokens)!,
    completionTokens: of(({ completionTokens }) => completionTokens)!,
  };
}

/** The lower one of the two in the middle. */
function median(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? null;
}

const HOUR_MS = 3_600_000;
const NEAR_MS = 5 * 60_000;
const SHOWN_AROUND = 10;

/** Within what the reader of the call may see: its project, where that is all, and never another tenant. */
async function aroundOf(
  store: AdminCalls,
  call: CallSummary,
  record: CallRecord | null,
  at: TenantOrProject | null,
): Promise<ThingOf<typeof around.shape>> {
  const { tenantId, timeMs, endUser, code } = call;
  const scope: CallScope = {
    ...(tenantId !== null && { tenantId }),
    ...(at?.projectId != null && { projectId: at.projectId }),
  };
  const session = record?.metadata?.["session_id"];
  const list = async (order: LogFilter["order"], filter: Partial<LogFilter>): Promise<readonly DatedCall[]> =>
    (await store.searchCalls({ limit: SHOWN_AROUND + 1 }, { order, ...scope, ...filter })).data
      .filter(({ traceId }) => traceId !== call.traceId)
      .slice(0, SHOWN_AROUND)
      .map(dated);
  const hourMs = Math.floor(timeMs / HOUR_MS) * HOUR_MS;
  const [ofUser, ofSession, ofError, errors] = await Promise.all([
    tenantId === null || endUser === null
      ? []
      : list("oldest", { endUser, fromMs: timeMs - NEAR_MS, toMs: timeMs + NEAR_MS }),
    tenantId === null || typeof session !== "string"
      ? []
      : list("newest", { tags: [tagOf("meta", `session_id=${session}`)] }),
    tenantId === null || code === null ? [] : list("oldest", { code, fromMs: hourMs, toMs: hourMs + HOUR_MS }),
    tenantId === null || code === null
      ? 0
      : store
          .histogram({ filter: { ...scope, code }, edges: [hourMs, hourMs + HOUR_MS] })
          .then(({ buckets }) => Number(buckets[0]!.calls)),
  ]);
  return { endUser: ofUser, session: ofSession, error: ofError, errors };
}
