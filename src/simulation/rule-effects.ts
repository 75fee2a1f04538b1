// What limits, budgets and policies would do with replayed calls at the targets that answer them. Limits count these calls
// alone, each at its own time; policies are asked what the records can answer.
import { limitSetOf } from "../admission/compile-limits.ts";
import { advance, charge, type Count, newCount } from "../admission/windows.ts";
import type { Account, LimitRule } from "../core/configured/limit.ts";
import { countedTokens } from "../core/record/usage.ts";
import { splitName } from "../routing/compile-routes.ts";
import type { RecordedCall } from "../store/calls/calls.ts";
import { type ExampleCalls, examplesOf } from "./example-calls.ts";
import { policyVerdicts } from "./policy-replay.ts";
import type { RecordedTokens } from "./recorded-facts.ts";
import type { Replay, ReplayedCall } from "./replay.ts";
import type { SimulatedConfiguration } from "./simulated-configuration.ts";

/** The examples are calls that it would refuse. */
export interface RuleEffect extends ExampleCalls {
  readonly kind: "limit" | "budget" | "policy";
  readonly name: string;
  /** Calls of which the record does not say enough. */
  readonly unknown: number;
}

export interface RuleWorld {
  readonly tenantId: string;
  readonly route: string;
  readonly configuration: Pick<SimulatedConfiguration, "limitRules" | "policies">;
  readonly tokens: RecordedTokens;
}

/** A call with the target that answers it. */
interface Answered {
  readonly call: RecordedCall;
  readonly provider: string;
  readonly model: string;
  readonly cost: ReplayedCall["cost"];
}

/** Only those that would refuse something, or cannot be judged for some of the calls. */
export function ruleEffects(
  replay: Replay,
  recorded: readonly RecordedCall[],
  world: RuleWorld,
): readonly RuleEffect[] {
  const answered = replay.calls.flatMap(({ target, cost }, index): readonly Answered[] => {
    const split = target === null ? null : splitName(target);
    return split === null ? [] : [{ call: recorded[index]!, provider: split.providerId, model: split.model, cost }];
  });
  return [...limitEffects(answered, world), ...policyEffects(answered, world)].filter(
    ({ calls, unknown }) => calls > 0 || unknown > 0,
  );
}

function limitEffects(answered: readonly Answered[], world: RuleWorld): readonly RuleEffect[] {
  const { tenantId, route, configuration } = world;
  const limits = limitSetOf(configuration.limitRules);
  const counts = new Map<string, Count>();
  const refused = new Map<LimitRule, string[]>();
  for (const { call, provider, model, cost } of answered) {
    const { projectId, tokenId, operation, endUser, timeMs } = call;
    const place = { route, provider, model: `${provider}:${model}` };
    const accounts =
      limits.forCaller(tenantId, projectId ?? "", tokenId ?? "", operation)?.accountsAt(place, endUser) ?? [];
    const needs = accounts.flatMap(({ rule, value }) => {
      const units = rule.mode === "enforce" ? unitsOf(rule, call, cost) : null;
      if (units === null) return [];
      const count = counts.getOrInsertComputed(accountKey({ rule, value }), () => newCount(rule));
      advance(count, { slidingMs: timeMs, wallMs: timeMs });
      return [{ rule, count, units }];
    });
    const full = needs.filter(({ rule, count, units }) => count.total + units > rule.limit);
    for (const { rule } of full) refused.set(rule, [...(refused.get(rule) ?? []), call.traceId]);
    if (full.length === 0) for (const { count, units } of needs) charge(count, units);
  }
  return [...refused].map(([{ kind, name }, traceIds]) => ({ kind, name, unknown: 0, ...examplesOf(traceIds) }));
}

const accountKey = ({ rule, value }: Account): string => JSON.stringify([rule.kind, rule.id, value]);

/** `null` where the rule counts nothing that a record has; infinite where a budget of money has no price to count. */
function unitsOf({ unit, unpriced }: LimitRule, { usage }: RecordedCall, cost: ReplayedCall["cost"]): number | null {
  if (unit === "requests") return 1;
  if (usage === null || unit === "concurrency") return null;
  if (unit === "tokens") return countedTokens(usage);
  return cost?.nanoUsd ?? (unpriced === "deny" ? Number.POSITIVE_INFINITY : null);
}

function policyEffects(
  answered: readonly Answered[],
  { tenantId, configuration, tokens }: RuleWorld,
): readonly RuleEffect[] {
  return configuration.policies.map((policy): RuleEffect => {
    const verdict = policyVerdicts({ tenantId, tokens, policy });
    const denied: string[] = [];
    let unknown = 0;
    for (const { call, provider, model } of answered) {
      const last = call.attempts.at(-1);
      const placed = last === undefined ? call : { ...call, attempts: [{ ...last, provider, model }] };
      const said = verdict(placed);
      if (said === "denied") denied.push(call.traceId);
      if (said === "unknown") unknown++;
    }
    return { kind: "policy", name: policy.name ?? policy.id, unknown, ...examplesOf(denied) };
  });
}
