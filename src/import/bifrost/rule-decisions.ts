// What Bifrost's routing rules lead to, for a name that clients ask for: the targets and fallbacks of its route, each for
// the calls of which its rule is true and none of those before it. https://docs.getbifrost.ai/providers/routing-rules
import type { ForeignNode } from "../foreign-file.ts";
import type { Fleet } from "./accounts.ts";
import { targetsAt, type WeightedTarget } from "./key-routes.ts";
import { hasKey, type Rule, type RuleTarget } from "./read-rules.ts";
import {
  allOf,
  anyOf,
  type AskedModel,
  type Condition,
  conditionOf,
  not,
  NotExpressible,
  requireUsable,
} from "./rule-condition.ts";

const MAX_ENTRIES = 100;
/** The most rules of a chain, as there by default. */
const MAX_CHAIN = 10;

/** What a rule leads to. */
interface Decision {
  readonly when: Condition;
  /** The last one of a chain is the one whose targets count. */
  readonly rules: readonly Rule[];
  readonly asked: AskedModel;
}

/** The route of a name that clients ask for. */
export interface PlannedRoute {
  readonly name: string;
  readonly asked: AskedModel;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly fallbacks: readonly { readonly model: string; readonly when: Condition }[];
  readonly uses: readonly Use[];
}

interface Entry {
  readonly whens: Condition[];
  /** `null` while it is drawn among no others. */
  weight: number | null;
}

/** What a decision has become. */
interface Use {
  readonly rules: readonly Rule[];
  /** By target and fallback of the last rule: the models here. */
  readonly models: ReadonlyMap<ForeignNode, readonly string[]>;
  /** Its weights are not those of an earlier rule with the same targets. */
  readonly isWeightLost: boolean;
}

/** `null` where no rule can be true. Throws NotExpressible for more than a route can hold. */
export function plannedRoute(asked: AskedModel, rules: readonly Rule[], fleet: Fleet): PlannedRoute | null {
  const found = decisions(asked, rules, [], { left: MAX_ENTRIES });
  if (found.length === 0) return null;
  const entries = new Map<string, Entry>();
  const fallbacks: { readonly model: string; readonly when: Condition }[] = [];
  const uses: Use[] = [];
  const before: Condition[] = [];
  for (const { when, rules: chain, asked: state } of found) {
    const condition = exclusive(before, when);
    before.push(when);
    if (condition === false) continue;
    const last = chain.at(-1)!;
    const models = new Map<ForeignNode, readonly string[]>();
    const targets = last.targets.flatMap((target) => {
      const at = accountsOf(target, state, fleet);
      const sum = at.reduce((total, { weight }) => total + weight, 0);
      models.set(
        target.node,
        at.map(({ model }) => model),
      );
      return at.map(({ model, weight }) => ({ model, weight: (target.weight * weight) / sum }));
    });
    const isWeightLost = !addTargets(entries, condition, targets);
    for (const fallback of last.fallbacks) {
      const at = accountsOf(fallback, state, fleet).map(({ model }) => model);
      models.set(fallback.node, at);
      for (const model of at) fallbacks.push({ model, when: condition });
    }
    uses.push({ rules: chain, models, isWeightLost });
  }
  const rest = exclusive(before, true);
  if (rest !== false) addTargets(entries, rest, accountsOf(OF_THE_CALL, asked, fleet));
  for (const when of [
    ...Array.from(entries.values(), ({ whens }) => anyOf(...whens)),
    ...fallbacks.map((one) => one.when),
  ])
    if (typeof when === "string") requireUsable(when);
  if (entries.size > MAX_ENTRIES || fallbacks.length > MAX_ENTRIES)
    throw new NotExpressible(`a route has at most ${MAX_ENTRIES} targets and ${MAX_ENTRIES} fallbacks`);
  return { name: `${asked.provider}/${asked.model}`, asked, entries, fallbacks, uses };
}

function exclusive(before: readonly Condition[], when: Condition): Condition {
  return allOf(...before.map(not), when);
}

/** What rules lead to, in their order, up to the first that is true of all calls. */
function decisions(
  asked: AskedModel,
  rules: readonly Rule[],
  chain: readonly AskedModel[],
  bound: { left: number },
): readonly Decision[] {
  const found: Decision[] = [];
  const add = (decision: Decision): void => {
    bound.left -= 1;
    if (bound.left < 0) throw new NotExpressible(`with chains, the rules lead to more than ${MAX_ENTRIES} decisions`);
    if (!found.some(({ when }) => when === decision.when)) found.push(decision);
  };
  for (const rule of rules) {
    const when = conditionOf(rule.expression, asked);
    if (when === false) continue;
    const [{ provider, model }] = rule.targets as readonly [RuleTarget];
    const next: AskedModel = { provider: provider ?? asked.provider, model: model ?? asked.model };
    const seen = [...chain, asked];
    const isSeen = seen.some((each) => each.provider === next.provider && each.model === next.model);
    if (rule.isChained && !isSeen && seen.length < MAX_CHAIN)
      for (const further of decisions(next, rules, seen, bound))
        add({ ...further, when: allOf(when, further.when), rules: [rule, ...further.rules] });
    add({ when, rules: [rule], asked });
    if (when === true) break;
  }
  return found;
}

type Destination = Pick<RuleTarget, "provider" | "model" | "key">;
const OF_THE_CALL: Destination = { provider: null, model: null, key: undefined };

/** A model at the accounts of its provider that serve it. */
function accountsOf(
  { provider, model, key }: Destination,
  asked: AskedModel,
  { providers, routes }: Fleet,
): readonly WeightedTarget[] {
  const name = { provider: provider ?? asked.provider, model: model ?? asked.model };
  const groups = providers.get(name.provider) ?? [];
  const known = routes.get(`${name.provider}/${name.model}`);
  if (key !== undefined) {
    const group = groups.find((each) => hasKey(each, key))!;
    // the name may be an alias at the account
    const own = known?.targets.find(({ model: target }) => target.startsWith(`${group.id}:`));
    return own === undefined ? targetsAt([group], name.model) : [{ ...own, weight: 1 }];
  }
  if (known !== undefined) return known.targets;
  const serving = groups.filter(({ models }) => models.length === 0 || models.includes(name.model));
  return targetsAt(serving.length > 0 ? serving : groups.slice(0, 1), name.model);
}

/**
 * A model is in a route once, with one weight: that of each decision fits the others as far as their proportions are the
 * same. Returns whether they are.
 */
function addTargets(entries: Map<string, Entry>, when: Condition, targets: readonly WeightedTarget[]): boolean {
  const weights = new Map<string, number>();
  for (const { model, weight } of targets) weights.set(model, (weights.get(model) ?? 0) + weight);
  const known = [...weights].flatMap(([model, weight]) => {
    const set = entries.get(model)?.weight ?? null;
    return set === null ? [] : [set / weight];
  });
  const scale = known[0] ?? 1;
  for (const [model, weight] of weights) {
    const entry = entries.get(model) ?? { whens: [], weight: null };
    entry.whens.push(when);
    if (weights.size > 1) entry.weight ??= weight * scale;
    entries.set(model, entry);
  }
  return weights.size === 1 || known.every((each) => Math.abs(each / scale - 1) < 1e-6);
}
