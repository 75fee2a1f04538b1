// The targets of a Portkey config, nested as they may be, as stages: what is attempted first, what after it, and with
// which weights. https://portkey.ai/docs/product/ai-gateway/configs
import { numberOf, textOf, wordOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { type Leg, type Members, placesOf, readLeg } from "./leg.ts";

export interface WeightedLeg {
  readonly leg: Leg;
  readonly weight: number;
  /** The condition under which calls go there; absent where all do. */
  readonly when?: string;
}

/** Among the legs of a stage calls are divided by weight; later stages are attempted after earlier ones. */
export type Stages = readonly (readonly WeightedLeg[])[];

/** What the targets of a config share with it unless they have it themselves. */
const INHERITED = [
  "provider",
  "virtual_key",
  "api_key",
  "custom_host",
  "override_params",
  "default_params",
  "drop_params",
] as const;

/** The members of a target together with those that it inherits. */
export function withInherited(own: Members, around: Members): Members {
  return new Map([...[...around].filter(([name]) => (INHERITED as readonly string[]).includes(name)), ...own]);
}

export function stagesOf(node: ForeignNode, around: Members, context: ImportContext): Stages {
  const { claims } = context;
  const members = withInherited(node.members, around);
  const targets = node.members.get("targets")?.items ?? [];
  if (targets.length === 0) {
    const leg = readLeg(node, members, context);
    return leg === null ? [] : [[{ leg, weight: 1 }]];
  }
  const strategy = node.members.get("strategy");
  const mode = strategy?.members.get("mode");
  if (textOf(mode) === "conditional") return defaultOf(node, targets, members, context);
  const isBalanced = textOf(mode) === "loadbalance";
  const used = isBalanced ? targets.filter((target) => !isIdle(target)) : targets;
  const parts = used.map((target) => ({ target, stages: stagesOf(target, members, context) }));
  const at = routesOf(parts.flatMap(({ stages }) => stages));
  claims.changed(
    strategy?.members.get("on_status_codes") ?? node.members.get("on_status_codes"),
    at,
    "which failures lead to another target is the same for all routes: docs/routes.md",
  );
  for (const target of targets.filter((each) => !used.includes(each))) {
    claims.changed(target.members.get("weight"), at, "a target without weight is left out");
    claims.without(target, "no call goes to a target without weight");
  }
  for (const key of INHERITED)
    claims.without(node.members.get(key), "each of the targets has its own, or none that was taken over");
  if (isBalanced) return balanced(parts, mode, context);
  claims.taken(mode, at);
  // a weight has no meaning among fallbacks
  for (const { target } of parts)
    claims.without(target.members.get("weight"), "targets that are attempted in order have no weight");
  return parts.flatMap(({ stages }) => stages);
}

/** A target to which no call goes, because its weight is 0. */
function isIdle(target: ForeignNode): boolean {
  return (numberOf(target.members.get("weight")) ?? 1) <= 0;
}

/** The targets of the routes in which any of the legs stands. */
function routesOf(stages: Stages): () => readonly string[] {
  return () => stages.flat().flatMap(({ leg }) => leg.places.map(({ route }) => `routes.${route}.targets`));
}

/** Conditions within a target: calls go to the default, as those do for which no condition holds. */
function defaultOf(
  { members }: ForeignNode,
  targets: readonly ForeignNode[],
  around: Members,
  context: ImportContext,
): Stages {
  const { claims } = context;
  const strategy = members.get("strategy");
  const name = wordOf(strategy?.members.get("default"));
  const chosen = targets.find((target) => wordOf(target.members.get("name")) === name);
  for (const target of targets)
    if (target !== chosen) {
      claims.without(target, "no call comes here, because conditions within a target have no counterpart");
      claims.target(target, () => []);
    }
  claims.without(strategy?.members.get("conditions"), "conditions within a target have no counterpart");
  if (chosen === undefined) {
    claims.without(strategy, "the default names no target");
    return [];
  }
  const stages = stagesOf(chosen, around, context);
  claims.changed(strategy, routesOf(stages), "calls go to the default target, whatever the conditions say");
  claims.taken(chosen.members.get("name"), routesOf(stages));
  return stages;
}

interface Part {
  readonly target: ForeignNode;
  readonly stages: Stages;
}

/** A group that has fallbacks of its own gives its first stage to the draw; the others follow for all of them. */
function balanced(parts: readonly Part[], mode: ForeignNode | undefined, { claims }: ImportContext): Stages {
  const drawn = parts.flatMap(({ target, stages }): readonly WeightedLeg[] => {
    const node = target.members.get("weight");
    const weight = numberOf(node) ?? 1;
    const first = stages[0] ?? [];
    claims.taken(node, () => first.flatMap(({ leg }) => placesOf(leg, "weight")()));
    const sum = first.reduce((total, each) => total + each.weight, 0);
    return first.map((each) => ({ leg: each.leg, weight: (weight * each.weight) / sum }));
  });
  const later = parts.flatMap(({ stages }) => stages.slice(1));
  const how = later.length > 0 ? "fallbacks of one of the targets follow after all of them" : null;
  claims.moved(mode, routesOf([drawn]), how);
  return drawn.length === 0 ? later : [drawn, ...later];
}
