// Deployments of LiteLLM that have one name, and the route that they become: its targets with their order and weight.
// https://docs.litellm.ai/docs/routing
import { claimAsked, type Claims } from "../report.ts";
import { nameOf } from "../draft.ts";
import { numberOf } from "../figures.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Value } from "../reference.ts";
import { targetEntry } from "../target-entry.ts";
import type { Deployment } from "./deployment.ts";
import { tagConditions } from "./tags.ts";

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
 * By which of their settings calls are divided among deployments; the first that any of them has. LiteLLM reads them
 * where it draws lots only: with other strategies, deployments without one are not left alone.
 */
export type ShareKey = "weight" | "rpm" | "tpm";
const SHARE_KEYS: readonly ShareKey[] = ["weight", "rpm", "tpm"];

export function shareKeyOf({ deployments }: Group, isDrawn: boolean): ShareKey | null {
  if (!isDrawn || deployments.length === 1) return null;
  return SHARE_KEYS.find((key) => deployments.some(({ settings }) => numberOf(settings.get(key)) !== null)) ?? null;
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
  const key = shareKeyOf(group, isDrawn);
  const rows = group.deployments.map((deployment) => {
    const { settings } = deployment;
    const order = numberOf(settings.get("order"));
    const share = key === null ? 1 : (numberOf(settings.get(key)) ?? 0);
    return { deployment, order: order ?? Number.POSITIVE_INFINITY, isIdle: share <= 0, share };
  });
  const places = [...new Set(rows.map(placeOf))].toSorted((a, b) => a - b);
  const without = isDrawn
    ? "the only target of a route needs no weight"
    : "LiteLLM reads no weights with this strategy";
  for (const { deployment } of rows) claimOrder(deployment, key, without, group.route, claims);
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
      ...(conditions.size > 0 && { when: anyOf(same.map((row) => conditions.get(row.deployment)!)) }),
    });
  });
}

function anyOf(conditions: readonly string[]): string {
  const distinct = [...new Set(conditions)];
  return distinct.length === 1 ? distinct[0]! : distinct.map((one) => `(${one})`).join(" || ");
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

function claimOrder(
  deployment: Deployment,
  key: ShareKey | null,
  without: string,
  route: string,
  claims: Claims,
): void {
  const at = `of ${targetOf(deployment)} in routes.${route}`;
  const order = deployment.settings.get("order");
  if (numberOf(order) !== null) claims.taken(order, `order ${at}`);
  const weight = deployment.settings.get("weight");
  if (numberOf(weight) !== null)
    if (key === "weight") claims.taken(weight, `weight ${at}`);
    else claims.without(weight, without);
}
