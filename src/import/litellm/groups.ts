// Deployments of LiteLLM that have one name, and the route that they become: its targets with their order and weight.
// https://docs.litellm.ai/docs/routing
import { DIRECT_ROUTE, ROUTE_NAME } from "../../core/route.ts";
import { nameOf } from "../draft.ts";
import { numberOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Mapping, Value } from "../reference.ts";
import type { Deployment } from "./deployment.ts";

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
  for (const each of deployments.filter(isWildcard)) claimWildcard(each, { claims });
  return Array.from(byName, ([name, members]): Group => {
    const route = draft.freeName("routes", nameOf(name));
    draft.set("routes", [route], {});
    const isDirect = members.length === 1 && name.replace("/", ":") === targetOf(members[0]!);
    for (const { groupNode } of members)
      if (name === route && ROUTE_NAME.test(name) && name !== DIRECT_ROUTE) claims.taken(groupNode, `routes.${route}`);
      else if (isDirect) claims.taken(groupNode, targetOf(members[0]!));
      else
        claims.changed(
          groupNode,
          `routes.${route}`,
          `clients ask for the route ${route}, because names of routes have letters, digits, dashes, dots and underscores only`,
        );
    return { name, source: name, route, deployments: members };
  });
}

function isWildcard({ group, model }: Deployment): boolean {
  return group.includes("*") || model.includes("*");
}

function claimWildcard({ group, groupNode, providerId }: Deployment, { claims }: Pick<ImportContext, "claims">): void {
  if (group === `${providerId}/*`) claims.taken(groupNode, `providers.${providerId}`);
  else
    claims.changed(
      groupNode,
      `providers.${providerId}`,
      `clients ask for ${providerId}:<model> or ${providerId}/<model>`,
    );
}

/** By which of their settings calls are divided among deployments; the first that any of them has. */
export type ShareKey = "weight" | "rpm" | "tpm";
const SHARE_KEYS: readonly ShareKey[] = ["weight", "rpm", "tpm"];

export function shareKeyOf({ deployments }: Group): ShareKey | null {
  if (deployments.length === 1) return null;
  return SHARE_KEYS.find((key) => deployments.some(({ settings }) => numberOf(settings.get(key)) !== null)) ?? null;
}

/** The targets of a route. A target can be in a list once: equal ones share their weights. */
export function targetsOf(group: Group, { claims }: ImportContext): readonly Value[] {
  const key = shareKeyOf(group);
  const rows = group.deployments.map((deployment) => {
    const { settings } = deployment;
    const order = numberOf(settings.get("order"));
    const share = key === null ? 1 : (numberOf(settings.get(key)) ?? 0);
    return { deployment, order: order ?? Number.POSITIVE_INFINITY, isIdle: share <= 0, share };
  });
  const places = [...new Set(rows.map(placeOf))].toSorted((a, b) => a - b);
  for (const { deployment } of rows) claimOrder(deployment, key, { claims });
  const byTarget = Map.groupBy(rows, ({ deployment }) => targetOf(deployment));
  return Array.from(byTarget, ([model, same]): Value => {
    const { deployment } = same[0]!;
    const order = Math.min(...same.map((row) => places.indexOf(placeOf(row))));
    const weight = same.reduce((sum, { share }) => sum + Math.max(share, 0), 0);
    const entry: Mapping = {
      model,
      ...(order > 0 && { order: Math.min(order, 1000) }),
      ...(byTarget.size > 1 && weight > 0 && weight !== 1 && { weight: Math.min(weight, 1_000_000) }),
      ...(Object.keys(deployment.params).length > 0 && { params: deployment.params }),
      ...(deployment.drop.length > 0 && { drop: deployment.drop }),
      ...(deployment.maxConcurrency !== null && { max_concurrency: deployment.maxConcurrency }),
    };
    return Object.keys(entry).length === 1 ? model : entry;
  });
}

/** Targets without a share come after all others of their order, as LiteLLM draws lots among the others only. */
function placeOf({ order, isIdle }: { readonly order: number; readonly isIdle: boolean }): number {
  return (Number.isFinite(order) ? order : 1e9) * 2 + (isIdle ? 1 : 0);
}

function claimOrder(deployment: Deployment, key: ShareKey | null, { claims }: Pick<ImportContext, "claims">): void {
  const at = `targets of ${targetOf(deployment)}`;
  const order: ForeignNode | undefined = deployment.settings.get("order");
  if (numberOf(order) !== null) claims.taken(order, at);
  const weight = deployment.settings.get("weight");
  if (numberOf(weight) !== null)
    if (key === "weight") claims.taken(weight, at);
    else claims.without(weight, "the only target of a route needs no weight");
}
