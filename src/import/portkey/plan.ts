// The targets of a Portkey config, nested as they may be, as stages: what is attempted first, what after it, and with
// which weights. https://portkey.ai/docs/product/ai-gateway/configs
import { numberOf, textOf, wordOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { conditionOf, exclusive } from "./conditions.ts";
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
  if (textOf(mode) === "conditional") return conditionalStages(node, targets, members, context);
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

/**
 * Conditions within a target: its targets are each for the calls for which their condition is the first to hold, and the
 * default is for the others. Calls go by a condition that cannot be expressed as if it did not hold.
 */
function conditionalStages(
  { members }: ForeignNode,
  targets: readonly ForeignNode[],
  around: Members,
  context: ImportContext,
): Stages {
  const { claims } = context;
  const strategy = members.get("strategy");
  const named = new Map(targets.map((target) => [wordOf(target.members.get("name")) ?? "", target]));
  const standard = named.get(wordOf(strategy?.members.get("default")) ?? "");
  const conditions = (strategy?.members.get("conditions")?.items ?? []).flatMap((node) => {
    const target = named.get(wordOf(node.members.get("then")) ?? "");
    const when = conditionOf(node.members.get("query"));
    if (target !== undefined && when !== null) return [{ node, target, when }];
    claims.without(node, target === undefined ? "it names no target" : NOT_EXPRESSED);
    return [];
  });
  const used = new Set([...conditions.map(({ target }) => target), ...(standard === undefined ? [] : [standard])]);
  for (const target of targets.filter((each) => !used.has(each)))
    claims.missing(target, "no call comes here, because no condition that was taken over names it");
  if (standard === undefined) claims.without(strategy?.members.get("default"), "the default names no target");
  const stages = new Map([...used].map((target) => [target, stagesOf(target, around, context)]));
  const all = conditions.map(({ when }) => when);
  const made = sideBySide([
    ...conditions.map(({ target }, index) => under(stages.get(target)!, exclusive(all, index))),
    ...(standard === undefined ? [] : [under(stages.get(standard)!, all.length === 0 ? null : exclusive(all, null))]),
  ]);
  for (const { node } of conditions) {
    claims.changed(node.members.get("query"), routesOf(made), OF_THE_BODY);
    claims.taken(node.members.get("then"), routesOf(made));
  }
  const isWhole = conditions.length === (strategy?.members.get("conditions")?.items.length ?? 0);
  claims.moved(
    strategy,
    routesOf(made),
    isWhole ? null : "calls for which the conditions without counterpart hold go to the default target",
  );
  for (const [target, own] of stages) claims.taken(target.members.get("name"), routesOf(own));
  return made;
}

/** Of one of them at most the conditions hold, so that none comes before another. */
function sideBySide(branches: readonly Stages[]): Stages {
  const length = Math.max(0, ...branches.map((stages) => stages.length));
  return Array.from({ length }, (_, index) => branches.flatMap((stages) => stages[index] ?? []));
}

/** Metadata in Portkey's header does not count. */
export const OF_THE_BODY = "metadata counts that stands in the body of the request";
const NOT_EXPRESSED = "conditions do not see this, or its pattern is not one of RE2: docs/routes.md#conditions";

/** The stages, for the calls for which the condition holds as well; `null` for all. */
export function under(stages: Stages, when: string | null): Stages {
  if (when === null) return stages;
  return stages.map((stage) =>
    stage.map((each) => ({ ...each, when: each.when === undefined ? when : `(${when}) && (${each.when})` })),
  );
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
    // the calls of each condition are divided for themselves
    const sumOf = ({ when }: WeightedLeg): number =>
      first.reduce((total, other) => total + (other.when === when ? other.weight : 0), 0);
    return first.map((each) => ({ ...each, weight: (weight * each.weight) / sumOf(each) }));
  });
  const later = parts.flatMap(({ stages }) => stages.slice(1));
  const how = later.length > 0 ? "fallbacks of one of the targets follow after all of them" : null;
  claims.moved(mode, routesOf([drawn]), how);
  return drawn.length === 0 ? later : [drawn, ...later];
}
