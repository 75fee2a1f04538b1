// Takes over a config of Portkey: one route, or a route for each model that its conditions name.
// https://portkey.ai/docs/product/ai-gateway/configs
import { claimAsked, type Reasons, withoutMembers } from "../report.ts";
import { textOf, wordOf } from "../figures.ts";
import { type ForeignNode, refusalAt } from "../foreign-file.ts";
import type { GatewayImport, ImportContext } from "../gateway-import.ts";
import type { Value } from "../reference.ts";
import { targetEntry } from "../target-entry.ts";
import { conditionOf, exclusive } from "./conditions.ts";
import { type Leg, placesOf } from "./leg.ts";
import { OF_THE_BODY, type Stages, stagesOf, under, withInherited } from "./plan.ts";
import { type RouteSetting, routeSettings, written } from "./route-settings.ts";

/** One of these has to be in the file. */
const MEMBERS = [
  "strategy",
  "targets",
  "provider",
  "virtual_key",
  "override_params",
  "default_params",
  "retry",
  "cache",
  "request_timeout",
  "input_guardrails",
  "output_guardrails",
  "before_request_hooks",
  "after_request_hooks",
];

export const portkey: GatewayImport = {
  yaml: "1.2",
  run: (context) => {
    const config = configOf(context);
    const given = context.foreign.root.members.get("name");
    const mode = textOf(config.members.get("strategy")?.members.get("mode"));
    const settings = routeSettings(config, context, mode !== "conditional");
    const asked = textOf(given) ?? context.choices.name;
    if (!hasTarget(config)) setDefaults(settings, context);
    else if (mode === "conditional") importConditions(config, asked, settings, context);
    else {
      const stages = stagesOf(config, new Map(), context);
      sayAsked(given, asked, makeRoutes(asked, stages, settings, context), isOpen(stages), context);
    }
    context.claims.without(given, "the config has a name, and the route that was made of it has none");
    reportRest(config, context);
  },
};

/** The file may be what Portkey's admin API returns, which has the config in a member. */
function configOf({ foreign: { file, root } }: ImportContext): ForeignNode {
  const inner = root.members.get("config");
  const config = inner?.kind === "mapping" ? inner : root;
  if (config.kind === "mapping" && MEMBERS.some((name) => config.members.has(name))) {
    const targets = config.members.get("targets");
    const wrong =
      targets !== undefined && targets.kind !== "list"
        ? targets
        : targets?.items.find(({ kind }) => kind !== "mapping");
    if (wrong === undefined) return config;
    throw refusalAt(file, wrong, "expected a list of targets, each a mapping");
  }
  throw refusalAt(file, config, `this is no config of Portkey: it has none of ${MEMBERS.join(", ")}`);
}

function hasTarget(config: ForeignNode): boolean {
  const { members } = config;
  const model = textOf(members.get("override_params")?.members.get("model"));
  return (
    (members.get("targets")?.items.length ?? 0) > 0 ||
    members.has("provider") ||
    members.has("virtual_key") ||
    model?.startsWith("@") === true
  );
}

/** A config without a target holds for whatever the request names. */
function setDefaults(settings: readonly RouteSetting[], context: ImportContext): void {
  const { claims, draft, foreign } = context;
  for (const [key, value] of Object.entries(written(settings, "route_defaults", context)))
    if (value !== undefined) draft.set("route_defaults", [key], value);
  claims.without(foreign.root.members.get("override_params"), "parameters belong to the targets of a route");
  claims.without(foreign.root.members.get("default_params"), "parameters belong to the targets of a route");
}

/**
 * Conditions on the model that the client asks for are routes of this name; those on metadata and parameters are
 * conditions of the targets of the route that the config becomes.
 */
function importConditions(
  config: ForeignNode,
  name: string,
  settings: readonly RouteSetting[],
  context: ImportContext,
): void {
  const { claims } = context;
  const strategy = config.members.get("strategy")!;
  const byName = new Map(
    (config.members.get("targets")?.items ?? []).map((node, index) => [
      wordOf(node.members.get("name")) ?? String(index),
      {
        node,
        stages: stagesOf(node, withInherited(config.members, new Map()), context),
        settings: routeSettings(node, context),
      },
    ]),
  );
  /** What clients ask for, with the name of the target, with what says so, and with how many others come before it. */
  const asked = new Map<
    string,
    { readonly target: string; readonly node?: ForeignNode | undefined; readonly after: number }
  >();
  const conditional: { readonly when: string; readonly target: string; readonly node: ForeignNode }[] = [];
  for (const condition of strategy.members.get("conditions")?.items ?? []) {
    const query = condition.members.get("query");
    const then = textOf(condition.members.get("then")) ?? "";
    const model = query?.members.size === 1 ? modelAsked(query) : null;
    const when = model === null && byName.has(then) ? conditionOf(query) : null;
    if (when !== null) conditional.push({ when, target: then, node: condition });
    else if (!byName.has(then)) claims.without(condition, "no target has this name");
    else if (model === null) {
      claims.without(
        query,
        "calls are not told apart by this; clients name the route that they want, such as the one of the target's name",
      );
      claims.without(condition.members.get("then"), "there is a route with the name of this target");
    } else if (asked.has(model)) claims.without(condition, "an earlier condition is about the same model");
    else asked.set(model, { target: then, node: condition, after: conditional.length });
  }
  const standard = strategy.members.get("default");
  if (asked.has(name)) claims.without(standard, "a condition is about the model of the route's name");
  else asked.set(name, { target: wordOf(standard) ?? "", node: standard, after: conditional.length });
  for (const target of byName.keys())
    if (![...asked.values(), ...conditional].some((each) => each.target === target) && !asked.has(target))
      asked.set(target, { target, after: 0 });
  const made = new Map<string, string[]>();
  const routesOfCondition = new Map<ForeignNode, string[]>();
  for (const [model, { target, node, after }] of asked) {
    const found = byName.get(target);
    if (found === undefined) continue;
    const earlier = conditional.slice(0, after);
    const stages =
      earlier.length > 0 ? conditionalStages(found.stages, earlier, (one) => byName.get(one)!.stages) : found.stages;
    const routes = makeRoutes(model, stages, [...found.settings, ...settings], context);
    sayAsked(node, model, routes, isOpen(stages), context);
    for (const { node: condition, target: other } of earlier) {
      routesOfCondition.set(condition, [...(routesOfCondition.get(condition) ?? []), ...routes]);
      made.set(other, [...(made.get(other) ?? []), ...routes]);
    }
    made.set(target, [...(made.get(target) ?? []), ...routes]);
  }
  for (const [condition, routes] of routesOfCondition) {
    const at = (): readonly string[] => routes.map((route) => `routes.${route}.targets`);
    claims.changed(condition.members.get("query"), at, OF_THE_BODY);
    claims.taken(condition.members.get("then"), at);
  }
  const placed = (routes: readonly string[]) => () => routes.map((route) => `routes.${route}`);
  for (const [target, routes] of made) claims.taken(byName.get(target)!.node.members.get("name"), placed(routes));
  claims.taken(strategy.members.get("mode"), placed([...made.values()].flat()));
  claims.without(standard, "the default names no target");
  claims.without(
    strategy.members.get("conditions"),
    "the target that it leads to, or that of the default, was not taken over",
  );
}

/** The targets of each condition are for the calls for which it is the first to hold; the default is for the others. */
function conditionalStages(
  standard: Stages,
  conditional: readonly { readonly when: string; readonly target: string }[],
  stagesOfTarget: (name: string) => Stages,
): Stages {
  const conditions = conditional.map(({ when }) => when);
  return [
    ...conditional.flatMap(({ target }, index) => under(stagesOfTarget(target), exclusive(conditions, index))),
    ...under(standard, exclusive(conditions, null)),
  ];
}

/** The model of `{"params.model": {"$eq": "..."}}`. */
function modelAsked(query: ForeignNode): string | null {
  const condition = query.members.get("params.model");
  return condition?.members.size === 1 ? textOf(condition.members.get("$eq")) : null;
}

/** What is said of a name that clients ask for, when its routes are known. */
function sayAsked(
  node: ForeignNode | undefined,
  asked: string,
  routes: readonly string[],
  isLeftToCaller: boolean,
  { claims, choices }: ImportContext,
): void {
  const [route] = routes;
  if (route === undefined) return;
  if (choices.models.includes(asked) || !isLeftToCaller) claimAsked(node, asked, route, claims);
  else claims.changed(node, `routes.${route}`, `clients ask for the models of --model: ${routes.join(", ")}`);
}

/** Whether the model of a target is left to the caller. */
function isOpen(stages: Stages): boolean {
  return stages.some((stage) => stage.some(({ leg }) => leg.model === null));
}

/** Returns the names of the routes: one, or one for each model that the config leaves to the caller. */
function makeRoutes(
  asked: string,
  stages: Stages,
  settings: readonly RouteSetting[],
  context: ImportContext,
): readonly string[] {
  const { models } = context.choices;
  const makes =
    isOpen(stages) && models.length > 0 ? models.map((model) => [model, model] as const) : [[asked, null] as const];
  // targets that name a model make a route in any case
  return makes.flatMap(([name, model]) => makeRoute(name, stages, model, settings, context) ?? []);
}

/** `null` for a route that would have no target. */
function makeRoute(
  asked: string,
  stages: Stages,
  model: string | null,
  settings: readonly RouteSetting[],
  context: ImportContext,
): string | null {
  const rows = rowsOf(stages, model, context);
  if (rows.length === 0) return null;
  const route = context.draft.routeFor(asked);
  for (const { target, legs } of rows) for (const leg of legs) leg.places.push({ route, target });
  context.draft.set("routes", [route], {
    targets: targetsOf(rows),
    ...written(settings, `routes.${route}`, context),
    ...(stages.some((stage) => stage.length > 1) && { strategy: "weighted" }),
  });
  return route;
}

/** A target, and the legs that are all of them written as it. */
interface Row {
  readonly target: string;
  readonly order: number;
  readonly legs: readonly Leg[];
  readonly weight: number;
  readonly when: string | null;
}

/**
 * `model` stands for the one that is left to the caller; without it, such legs are left out. A target can be in a route
 * once: legs that are equal share it, and later ones with other parameters are left out.
 */
function rowsOf(stages: Stages, model: string | null, { claims }: ImportContext): readonly Row[] {
  const rows = new Map<string, Row>();
  let order = -1;
  for (const stage of stages) {
    const usable = stage.filter(({ leg }) => (leg.model ?? model) !== null);
    if (usable.length > 0) order += 1;
    for (const { leg, weight, when = null } of usable) {
      const target = `${leg.providerId}:${leg.model ?? model ?? ""}`;
      const known = rows.get(target);
      if (known === undefined) rows.set(target, { target, order, legs: [leg], weight, when });
      else if (sameParameters(known.legs[0]!, leg))
        rows.set(target, {
          ...known,
          legs: [...known.legs, leg],
          weight: known.order === order ? jointWeight(known, { weight, when }) : known.weight,
          when: known.when === null || when === null ? null : `(${known.when}) || (${when})`,
        });
      else claims.target(leg.node, placesOf(leg), "the route has this target already, with other parameters");
    }
  }
  return [...rows.values()];
}

/** Weights under conditions that exclude each other do not add up. */
function jointWeight(known: Row, added: Pick<Row, "weight" | "when">): number {
  const isEither = known.when !== null && added.when !== null && known.when !== added.when;
  return isEither ? Math.max(known.weight, added.weight) : known.weight + added.weight;
}

function sameParameters(one: Leg, other: Leg): boolean {
  return JSON.stringify([one.params, one.drop]) === JSON.stringify([other.params, other.drop]);
}

function targetsOf(rows: readonly Row[]): readonly Value[] {
  const orders = [...new Set(rows.map(({ order }) => order))];
  return rows.map(({ target, order, legs, weight, when }) => {
    const [{ params, drop }] = legs as readonly [Leg];
    const least = Math.min(...rows.filter((row) => row.order === order).map((row) => row.weight));
    const share = Math.round((weight / least) * 1000) / 1000;
    const place = orders.indexOf(order);
    return targetEntry(target, {
      ...(place > 0 && { order: place }),
      ...(share !== 1 && { weight: share }),
      ...(when !== null && { when }),
      params,
      drop,
    });
  });
}

/** Guardrails are kept at Portkey; the config has their ids only, or checks of its plugins. */
const OF_GUARDRAILS = "what the guardrail does is not in the config; guards are configured under policies";
const WITHOUT: Reasons = {
  input_guardrails: OF_GUARDRAILS,
  output_guardrails: OF_GUARDRAILS,
  before_request_hooks: OF_GUARDRAILS,
  after_request_hooks: OF_GUARDRAILS,
  forward_headers: "clients send headers for a provider in extra_headers, if their token may",
  prompt_id: "Dragoman keeps no prompts",
  metadata: "clients send metadata with their calls",
};

function reportRest({ members }: ForeignNode, context: ImportContext): void {
  withoutMembers(members, WITHOUT, context.claims);
  for (const target of members.get("targets")?.items ?? []) {
    context.claims.without(target.members.get("name"), "targets have no names but those of their models");
    reportRest(target, context);
  }
}
