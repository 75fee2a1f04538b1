// Takes over a config of Portkey: one route, or a route for each model that its conditions name.
// https://portkey.ai/docs/product/ai-gateway/configs
import { ConfigurationError } from "../../config/problem.ts";
import { nameOf } from "../draft.ts";
import { numberOf, textOf, wordOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { GatewayImport, ImportContext } from "../gateway-import.ts";
import type { Mapping, Value } from "../reference.ts";
import { shownPath } from "../shown-path.ts";
import { type Stages, stagesOf, withInherited } from "./plan.ts";
import { routeSettings } from "./route-settings.ts";

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
    const name = nameOf(textOf(context.foreign.root.members.get("name")) ?? context.choices.name);
    context.claims.taken(context.foreign.root.members.get("name"), `routes.${name}`);
    const mode = textOf(config.members.get("strategy")?.members.get("mode"));
    const settings = routeSettings(config, context, mode !== "conditional");
    if (!hasTarget(config)) setDefaults(settings, context);
    else if (mode === "conditional") importConditions(config, name, settings, context);
    else makeRoute(name, stagesOf(config, new Map(), context), settings, context);
    reportGuardrails(config, context);
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
    throw refusal(file, wrong, "expected a list of targets, each a mapping");
  }
  throw refusal(file, config, `this is no config of Portkey: it has none of ${MEMBERS.join(", ")}`);
}

function refusal(file: string, { line, column, path }: ForeignNode, message: string): ConfigurationError {
  return new ConfigurationError([{ file, line, column, path: shownPath(path), message }]);
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
function setDefaults(settings: Mapping, { claims, draft, foreign }: ImportContext): void {
  for (const [key, value] of Object.entries(settings))
    if (value !== undefined) draft.set("route_defaults", [key], value);
  claims.without(foreign.root.members.get("override_params"), "parameters belong to the targets of a route");
  claims.without(foreign.root.members.get("default_params"), "parameters belong to the targets of a route");
}

/** Conditions on the model that the client asks for are routes of this name; others have no counterpart. */
function importConditions(config: ForeignNode, name: string, settings: Mapping, context: ImportContext): void {
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
  const routes = new Map<string, string>();
  for (const condition of strategy.members.get("conditions")?.items ?? []) {
    const query = condition.members.get("query");
    const then = textOf(condition.members.get("then")) ?? "";
    const model = query?.members.size === 1 ? modelAsked(query) : null;
    if (model === null || !byName.has(then)) {
      claims.without(
        query,
        "calls are not told apart by this; clients name the route that they want, such as the one of the target's name",
      );
      claims.without(condition.members.get("then"), "there is a route with the name of this target");
      continue;
    }
    const route = nameOf(model);
    routes.set(route, then);
    if (route === model) claims.taken(condition, `routes.${route}`);
    else claims.changed(condition, `routes.${route}`, `clients ask for the route ${route}`);
  }
  claims.taken(strategy.members.get("mode"), "routes");
  const standard = strategy.members.get("default");
  routes.set(name, textOf(standard) ?? "");
  claims.taken(standard, `routes.${name}`);
  for (const target of byName.keys()) if (![...routes.values()].includes(target)) routes.set(nameOf(target), target);
  for (const [route, target] of routes) {
    const found = byName.get(target);
    if (found === undefined) continue;
    claims.taken(found.node.members.get("name"), `routes.${route}`);
    makeRoute(route, found.stages, { ...settings, ...found.settings }, context);
  }
}

/** The model of `{"params.model": {"$eq": "..."}}`. */
function modelAsked(query: ForeignNode): string | null {
  const condition = query.members.get("params.model");
  return condition?.members.size === 1 ? textOf(condition.members.get("$eq")) : null;
}

function makeRoute(name: string, stages: Stages, given: Mapping, context: ImportContext): void {
  const { choices } = context;
  const isDrawn = stages.some((stage) => stage.length > 1);
  const settings: Mapping = { ...given, ...(isDrawn && { strategy: "weighted" }) };
  const isOpen = stages.some((stage) => stage.some(({ leg }) => leg.model === null));
  if (!isOpen) return setRoute(name, targetsOf(stages, null), settings, context);
  for (const model of choices.models) setRoute(nameOf(model), targetsOf(stages, model), settings, context);
  // targets that name a model make a route in any case
  if (choices.models.length === 0) setRoute(name, targetsOf(stages, null), settings, context);
}

function setRoute(name: string, targets: readonly Value[], settings: Mapping, { draft }: ImportContext): void {
  if (targets.length > 0) draft.set("routes", [draft.freeName("routes", name)], { targets, ...settings });
}

/** `model` stands for the one that is left to the caller; without it, such targets are left out. */
function targetsOf(stages: Stages, model: string | null): readonly Value[] {
  const seen = new Set<string>();
  let order = -1;
  return stages.flatMap((stage): readonly Value[] => {
    const rows = stage.filter(({ leg }) => (leg.model ?? model) !== null);
    if (rows.length > 0) order += 1;
    const least = Math.min(...rows.map(({ weight }) => weight));
    return rows.flatMap(({ leg, weight }): readonly Value[] => {
      const target = `${leg.providerId}:${leg.model ?? model ?? ""}`;
      if (seen.has(target)) return [];
      seen.add(target);
      const share = Math.round((weight / least) * 1000) / 1000;
      const entry: Mapping = {
        model: target,
        ...(order > 0 && { order }),
        ...(share !== 1 && { weight: share }),
        ...(Object.keys(leg.params).length > 0 && { params: leg.params }),
        ...(leg.drop.length > 0 && { drop: leg.drop }),
      };
      return [Object.keys(entry).length === 1 ? target : entry];
    });
  });
}

/** Guardrails are kept at Portkey; the config has their ids only, or checks of its plugins. */
function reportGuardrails(node: ForeignNode, context: ImportContext): void {
  const { claims } = context;
  for (const key of ["input_guardrails", "output_guardrails", "before_request_hooks", "after_request_hooks"])
    claims.without(
      node.members.get(key),
      "what the guardrail does is not in the config; guards are configured under policies",
    );
  claims.without(
    node.members.get("forward_headers"),
    "clients send headers for a provider in extra_headers, if their token may",
  );
  claims.without(node.members.get("prompt_id"), "Dragoman keeps no prompts");
  for (const target of node.members.get("targets")?.items ?? []) reportGuardrails(target, context);
  const ttl = numberOf(node.members.get("strategy")?.members.get("sticky")?.members.get("ttl"));
  if (ttl !== null)
    claims.without(
      node.members.get("strategy")?.members.get("sticky")?.members.get("ttl"),
      "calls are kept at a target as long as it is healthy",
    );
}
