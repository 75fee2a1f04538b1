// Deployments of LiteLLM that have one name, and the route that they become: its targets with their order and weight.
// https://docs.litellm.ai/docs/routing
import { claimAsked, type Claims } from "../report.ts";
import { nameOf } from "../draft.ts";
import { numberOf } from "../figures.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Value } from "../reference.ts";
import { targetEntry } from "../target-entry.ts";
import type { Deployment } from "./deployment.ts";
import { anyOf, tagConditions } from "./tags.ts";

export interface Group {
  /** What clients ask for. */
  readonly name: string;
  /** The name of the deployments: for an alias, that of which it is one. */
  readonly source: string;
  /** What they ask for here. */
  readonly route: string;
  readonly deployments: readonly Deployment[];
}

export const targetOf = ({ providerId, model }: Deployment): string => `${providerId}:${model}`;

/** Deployments with a name that can be a route. Those with a wildcard are called directly, by provider and model. */
export function groupsOf(deployments: readonly Deployment[], { claims, draft }: ImportContext): readonly Group[] {
  const byName = Map.groupBy(
    deployments.filter((each) => !isWildcard(each)),
    ({ group }) => group,
  );
  for (const each of deployments.filter(isWildcard)) claimWildcard(each, claims);
  // names that a route can have are given before those that become aliases
  const names = [...byName.keys()].toSorted((a, b) => Number(nameOf(a) !== a) - Number(nameOf(b) !== b));
  const routes = new Map(names.map((name) => [name, draft.routeFor(name)]));
  return Array.from(byName, ([name, members]): Group => {
    const route = routes.get(name)!;
    for (const deployment of members) {
      claimAsked(deployment.groupNode, name, route, claims);
      claims.target(deployment.node, `${targetOf(deployment)} in routes.${route}`);
    }
    return { name, source: name, route, deployments: members };
  });
}

export function isWildcard({ group, model }: Deployment): boolean {
  return group.includes("*") || model.includes("*");
}

function claimWildcard({ node, group, groupNode, providerId }: Deployment, claims: Claims): void {
  const how = `clients ask for ${providerId}:<model> or ${providerId}/<model>`;
  claims.target(node, `providers.${providerId}`);
  claims.moved(groupNode, `providers.${providerId}`, group === `${providerId}/*` ? null : how);
}

/**
 * By which of its settings a deployment gets its part of the calls: the first that the first deployment of its order has,
 * by which LiteLLM judges for all of them, where it draws lots. `null` where all get the same, or the strategy decides.
 * https://github.com/BerriAI/litellm/blob/main/litellm/router_strategy/simple_shuffle.py
 */
export type ShareKey = "weight" | "rpm" | "tpm";
const SHARE_KEYS: readonly ShareKey[] = ["weight", "rpm", "tpm"];

export function shareKeyOf(deployment: Deployment, { deployments }: Group, isDrawn: boolean): ShareKey | null {
  if (!isDrawn || deployments.length === 1) return null;
  const { settings } = deployments.find((each) => orderOf(each) === orderOf(deployment))!;
  return SHARE_KEYS.find((key) => numberOf(settings.get(key)) !== null) ?? null;
}

/** Those without an order come last. */
function orderOf({ settings }: Deployment): number {
  return numberOf(settings.get("order")) ?? Number.POSITIVE_INFINITY;
}

/** The targets of a route. A target can be in a list once: equal ones share their weights. */
export function targetsOf(
  group: Group,
  isDrawn: boolean,
  context: ImportContext,
  headers: Set<string>,
): readonly Value[] {
  const { claims } = context;
  const conditions = tagConditions(group.deployments, group.route, context, headers);
  const rows = group.deployments.map((deployment) => {
    const key = shareKeyOf(deployment, group, isDrawn);
    const share = key === null ? 1 : (numberOf(deployment.settings.get(key)) ?? 0);
    return { deployment, key, order: orderOf(deployment), isIdle: share <= 0, share };
  });
  const places = [...new Set(rows.map(placeOf))].toSorted((a, b) => a - b);
  const why = !isDrawn ? NOT_DRAWN : group.deployments.length === 1 ? ONLY_ONE : NOT_OF_THE_FIRST;
  for (const { deployment, key } of rows) claimOrder(deployment, key, why, group.route, claims);
  const byTarget = Map.groupBy(rows, ({ deployment }) => targetOf(deployment));
  return Array.from(byTarget, ([model, same]): Value => {
    const { deployment } = same[0]!;
    for (const each of same) if (isEqual(each.deployment, deployment)) each.deployment.routes.push(group.route);
    const order = Math.min(...same.map((row) => places.indexOf(placeOf(row))));
    const weight = same.reduce((sum, { share }) => sum + Math.max(share, 0), 0);
    return targetEntry(model, {
      ...(order > 0 && { order: Math.min(order, 1000) }),
      ...(byTarget.size > 1 && weight > 0 && weight !== 1 && { weight: Math.min(weight, 1_000_000) }),
      params: deployment.params,
      drop: deployment.drop,
      ...(deployment.maxConcurrency !== null && { max_concurrency: deployment.maxConcurrency }),
      ...(conditions.size > 0 && { when: anyOf(new Set(same.map((row) => conditions.get(row.deployment)!))) }),
    });
  });
}

/** Whether both are written as the same target. */
function isEqual(one: Deployment, other: Deployment): boolean {
  const written = ({ params, drop, maxConcurrency }: Deployment): string =>
    JSON.stringify([params, drop, maxConcurrency]);
  return written(one) === written(other);
}

/** Targets without a share come after all others of their order, as LiteLLM draws lots among the others only. */
function placeOf({ order, isIdle }: { readonly order: number; readonly isIdle: boolean }): number {
  return (Number.isFinite(order) ? order : 1e9) * 2 + (isIdle ? 1 : 0);
}

const ONLY_ONE = "the only target of a route needs no weight";
const NOT_DRAWN = "LiteLLM reads no weights with this strategy";
const NOT_OF_THE_FIRST = "LiteLLM reads no weights where the first deployment of the name and order has none";

function claimOrder(deployment: Deployment, key: ShareKey | null, why: string, route: string, claims: Claims): void {
  const at = `of ${targetOf(deployment)} in routes.${route}`;
  const order = deployment.settings.get("order");
  if (numberOf(order) !== null) claims.taken(order, `order ${at}`);
  const weight = deployment.settings.get("weight");
  if (numberOf(weight) !== null)
    if (key === "weight") claims.taken(weight, `weight ${at}`);
    else claims.without(weight, why);
}
