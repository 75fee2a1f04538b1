// Takes over Bifrost's routing rules. The first rule whose expression is true decides where a call goes; here, each name
// that clients ask for is a route, and what the rules lead to are its targets and fallbacks.
// https://docs.getbifrost.ai/providers/routing-rules
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Value } from "../reference.ts";
import { type Reasons, withoutMembers } from "../report.ts";
import { targetEntry } from "../target-entry.ts";
import { whyUnserved } from "../unserved-models.ts";
import type { Fleet } from "./accounts.ts";
import type { KeyGroup } from "./key-routes.ts";
import { leaveOut, PASSED_ON, readRules, type Rule } from "./read-rules.ts";
import {
  anyOf,
  type AskedModel,
  type Condition,
  conditionOf,
  headersOf,
  NotExpressible,
  textsComparedWith,
} from "./rule-condition.ts";
import { type PlannedRoute, plannedRoute } from "./rule-decisions.ts";

/** Where the parts of a rule stand in the configuration. */
interface Places {
  readonly conditions: string[];
  readonly parts: Map<ForeignNode, string[]>;
  isWeightLost: boolean;
  isLast: boolean;
}

export function importRoutingRules(list: ForeignNode | undefined, fleet: Fleet, context: ImportContext): void {
  if (list === undefined) return;
  const rules = readRules(list, fleet, context);
  const asked = namesAsked(rules, fleet, context);
  const states = statesReached(asked, rules);
  const usable = rules.filter((rule) => isExpressible(rule, states, context));
  const routes = plannedRoutes(asked, usable, fleet, context);
  const headers = new Set<string>();
  const places = new Map<Rule, Places>();
  for (const route of routes) {
    const written = [
      ...route.fallbacks,
      ...Array.from(route.entries.values(), ({ whens }) => ({ when: anyOf(...whens) })),
    ];
    for (const { when } of written) if (typeof when === "string") for (const name of headersOf(when)) headers.add(name);
    writeRoute(route, fleet, places, context);
  }
  if (headers.size > 0) context.draft.set("server", ["condition_headers"], [...headers].toSorted());
  for (const rule of usable) {
    const found = places.get(rule);
    if (found !== undefined) claimRule(rule, found, context);
    else leaveOut(rule, asked.length === 0 ? NO_NAMES : NOBODY, context);
  }
  context.claims.without(list, "the import does not know this setting");
}

const NO_NAMES =
  "the file does not say for which models clients ask; name them with --model <provider>/<model> and import again";
const NOBODY = "it is true of no model that clients ask for, as far as the file says; name others with --model";

const ORDER =
  "the first rule that is true counts: its targets have this condition, and those of the rules after it its contrary";
const OF_RULES: Reasons = {
  id: "rules have no names here",
  name: "rules have no names here",
  description: "rules have no names here",
  query: "it is the same expression in the form of the editor",
  scope_id: "the rule is for all calls",
  created_at: "it is about the file, not about calls",
  updated_at: "it is about the file, not about calls",
};

/** Names of which a route can be made: of listed models, of --model, of models that the rules name, of routes that exist. */
function namesAsked(rules: readonly Rule[], { providers, routes }: Fleet, { choices }: ImportContext): AskedModel[] {
  const names = new Map<string, AskedModel>();
  const add = (provider: string, model: string): void => {
    if (whyUnserved(model) === null) names.set(`${provider}/${model}`, { provider, model });
  };
  const addPlain = (model: string, among: readonly string[]): void => {
    const listing = among.filter((name) => providers.get(name)?.some(({ models }) => models.includes(model)));
    for (const name of listing.length > 0 ? listing : among.filter((each) => isOpen(providers.get(each))))
      add(name, model);
  };
  for (const asked of routes.keys()) add(...split(asked));
  for (const [name, groups] of providers) for (const { models } of groups) for (const model of models) add(name, model);
  for (const given of choices.models) {
    const [provider, model] = split(given);
    if (providers.has(provider)) add(provider, model);
    else addPlain(given, [...providers.keys()]);
  }
  for (const { expression } of rules) {
    const named = textsComparedWith(expression, "provider").filter((name) => providers.has(name));
    for (const model of textsComparedWith(expression, "model"))
      addPlain(model, named.length > 0 ? named : [...providers.keys()]);
  }
  return [...names.values()];
}

function split(name: string): [provider: string, model: string] {
  const at = name.indexOf("/");
  return [name.slice(0, Math.max(at, 0)), name.slice(at + 1)];
}

/** Whether any of the accounts is for all models. */
function isOpen(groups: readonly KeyGroup[] = []): boolean {
  return groups.some(({ models }) => models.length === 0);
}

/** What rules are asked about: what clients ask for, and what chained rules lead to. */
function statesReached(asked: readonly AskedModel[], rules: readonly Rule[]): readonly AskedModel[] {
  const states = new Map(asked.map((each) => [`${each.provider}/${each.model}`, each]));
  // a map goes on to what is added to it
  for (const state of states.values())
    for (const { isChained, targets } of rules)
      for (const { provider, model } of isChained ? targets : []) {
        const next: AskedModel = { provider: provider ?? state.provider, model: model ?? state.model };
        states.set(`${next.provider}/${next.model}`, next);
      }
  return [...states.values()];
}

function isExpressible(rule: Rule, states: readonly AskedModel[], context: ImportContext): boolean {
  try {
    for (const each of states) conditionOf(rule.expression, each);
    if (states.length === 0) conditionOf(rule.expression, { provider: "", model: "" });
    return true;
  } catch (thrown) {
    if (!(thrown instanceof NotExpressible)) throw thrown;
    leaveOut(rule, `${thrown.message}; ${PASSED_ON}`, context);
    return false;
  }
}

/** Rules whose conditions are too long with those of all rules before them are taken out of `usable`, the last first. */
function plannedRoutes(
  asked: readonly AskedModel[],
  usable: Rule[],
  fleet: Fleet,
  context: ImportContext,
): readonly PlannedRoute[] {
  for (;;)
    try {
      return asked.flatMap((each) => plannedRoute(each, usable, fleet) ?? []);
    } catch (thrown) {
      if (!(thrown instanceof NotExpressible)) throw thrown;
      leaveOut(usable.pop()!, `${thrown.message}; ${PASSED_ON}`, context);
    }
}

function writeRoute(
  { name, asked, entries, fallbacks, uses }: PlannedRoute,
  { routes }: Fleet,
  places: Map<Rule, Places>,
  { draft }: ImportContext,
): void {
  const route = routes.get(name)?.route ?? draft.routeFor(name, `${asked.provider}-${asked.model}`);
  const isDrawn = [...entries.values()].some(({ weight }) => weight !== null);
  draft.set("routes", [route], {
    ...(isDrawn && { strategy: "weighted" }),
    targets: Array.from(entries, ([model, { whens, weight }]): Value => entryOf(model, anyOf(...whens), weight)),
    ...(fallbacks.length > 0 && { fallbacks: fallbacks.map(({ model, when }) => entryOf(model, when, null)) }),
  });
  for (const { rules, models, isWeightLost } of uses) {
    const last = rules.at(-1)!;
    for (const rule of rules) {
      const at: Places = places.get(rule) ?? {
        conditions: [],
        parts: new Map(),
        isWeightLost: false,
        isLast: false,
      };
      places.set(rule, at);
      for (const { node } of last.targets)
        for (const model of models.get(node)!)
          at.conditions.push(`when of ${model} in routes.${route}`, `${model} in routes.${route}`);
    }
    const at = places.get(last)!;
    at.isLast = true;
    at.isWeightLost ||= isWeightLost;
    for (const [node, all] of models) {
      const isTarget = last.targets.some((target) => target.node === node);
      const stands = all.map((model) => (isTarget ? `${model} in routes.${route}` : `routes.${route}.fallbacks`));
      at.parts.set(node, [...(at.parts.get(node) ?? []), ...stands]);
    }
  }
}

function entryOf(model: string, when: Condition, weight: number | null): Value {
  return targetEntry(model, {
    ...(weight !== null && weight !== 1 && { weight: Number(weight.toPrecision(12)) }),
    ...(typeof when === "string" && { when }),
  });
}

function claimRule(rule: Rule, { conditions, parts, isWeightLost, isLast }: Places, { claims }: ImportContext): void {
  const { members } = rule.node;
  const at = (): readonly string[] => conditions;
  claims.changed(members.get("cel_expression"), at, ORDER);
  for (const key of ["enabled", "scope", "priority"]) claims.taken(members.get(key), at);
  claims.moved(members.get("chain_rule"), at, rule.isChained ? CHAINED : null);
  withoutMembers(members, OF_RULES, claims);
  for (const { node, key } of rule.targets) {
    const stands = (): readonly string[] => parts.get(node) ?? conditions;
    claims.target(node, stands);
    claims.moved(key, stands, KEYS);
    for (const name of ["provider", "model"]) claims.moved(node.members.get(name), stands, isLast ? null : CHAINED);
    claims.moved(
      node.members.get("weight"),
      () => stands().map((place) => `weight of ${place}`),
      isWeightLost ? "a target has one weight in a route, and that of an earlier rule counts" : null,
    );
  }
  for (const { node, key } of rule.fallbacks) {
    if (!isLast) claims.without(node, "the last rule of the chain has its own");
    const stands = (): readonly string[] => parts.get(node) ?? [];
    claims.moved(key, stands, KEYS);
    claims.taken(node, stands);
    if (isLast) claims.target(node, stands);
  }
}

const CHAINED = "the conditions are those of all rules of a chain, and the targets those of its last";
const KEYS = "the account of this key is called, and with others of its keys where it has several";
