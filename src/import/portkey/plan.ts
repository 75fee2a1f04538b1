// The targets of a Portkey config, nested as they may be, as stages: what is attempted first, what after it, and with
// which weights. https://portkey.ai/docs/product/ai-gateway/configs
import { numberOf, textOf, wordOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { type Leg, type Members, readLeg } from "./leg.ts";

export interface WeightedLeg {
  readonly leg: Leg;
  readonly weight: number;
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
  const parts = targets.map((target) => ({ target, stages: stagesOf(target, members, context) }));
  claims.changed(
    strategy?.members.get("on_status_codes") ?? node.members.get("on_status_codes"),
    "fallbacks",
    "which failures lead to another target is the same for all routes: docs/routes.md",
  );
  if (textOf(mode) === "loadbalance") return balanced(parts, mode, context);
  claims.taken(mode, "order of the targets");
  // a weight has no meaning among fallbacks
  for (const { target } of parts)
    claims.without(target.members.get("weight"), "targets that are attempted in order have no weight");
  return parts.flatMap(({ stages }) => stages);
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
    if (target !== chosen)
      claims.without(target, "no call comes here, because conditions within a target have no counterpart");
  claims.without(strategy?.members.get("conditions"), "conditions within a target have no counterpart");
  if (chosen === undefined) {
    claims.without(strategy, "the default names no target");
    return [];
  }
  claims.changed(strategy, "targets", "calls go to the default target, whatever the conditions say");
  claims.taken(chosen.members.get("name"), "targets");
  return stagesOf(chosen, around, context);
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
    if (weight <= 0) {
      claims.changed(node, "targets", "a target without weight is left out");
      return [];
    }
    claims.taken(node, "weight of the target");
    const first = stages[0] ?? [];
    const sum = first.reduce((total, each) => total + each.weight, 0);
    return first.map((each) => ({ leg: each.leg, weight: (weight * each.weight) / sum }));
  });
  const later = parts
    .filter(({ target }) => (numberOf(target.members.get("weight")) ?? 1) > 0)
    .flatMap(({ stages }) => stages.slice(1));
  if (later.length > 0)
    claims.changed(mode, "weights of the targets", "fallbacks of one of the targets follow after all of them");
  else claims.taken(mode, "weights of the targets");
  return drawn.length === 0 ? later : [drawn, ...later];
}
