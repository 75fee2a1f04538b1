// `rpm` and `tpm` of LiteLLM's deployments. With most strategies they only say how calls are divided; with some, a
// deployment over its rate is passed over, which is what a limit of its model does here.
// https://docs.litellm.ai/docs/routing
import { nameOf } from "../draft.ts";
import { wholeOf } from "../figures.ts";
import type { ImportContext } from "../gateway-import.ts";
import { type Group, shareKeyOf, targetOf } from "./groups.ts";

const METRICS = { rpm: "requests", tpm: "tokens" } as const;
const MOST = 1_000_000_000_000;

/** A deployment has one rate, by whatever name it is called: a name and its aliases share it. */
export function importRateLimits(
  group: Group,
  groups: readonly Group[],
  { isEnforced, isDrawn }: { readonly isEnforced: boolean; readonly isDrawn: boolean },
  { claims, draft }: ImportContext,
): void {
  for (const deployment of group.deployments) {
    const key = shareKeyOf(deployment, group, isDrawn);
    for (const [setting, metric] of Object.entries(METRICS)) {
      const node = deployment.rates.get(setting);
      const limit = wholeOf(node, 0, MOST);
      if (limit === null) continue;
      const target = targetOf(deployment);
      if (isEnforced) {
        const others = groups.filter(
          (each) => each !== group && each.deployments.some((one) => targetOf(one) === target),
        );
        const isShared = others.length > 0 && others.every(({ source }) => source === group.source);
        if (isShared && group.name !== group.source) continue;
        const scope = { ...(!isShared && { route: group.route }), model: target };
        const name = draft.freeName("limits", nameOf(`${group.route}-${deployment.providerId}-${metric}`));
        draft.set("limits", [name], { metric, window: "minute", limit, scope });
        if (isShared) claims.changed(node, `limits.${name}`, `all calls of ${target} count`);
        else if (others.some(({ source }) => source === group.source))
          claims.changed(node, `limits.${name}`, "calls by an alias are counted apart");
        else claims.taken(node, `limits.${name}`);
      } else if (key === setting)
        claims.changed(
          node,
          `weight of ${target} in routes.${group.route}`,
          "it is the weight of the target, as which LiteLLM uses it with this strategy; a limit would stand under limits",
        );
      else
        claims.without(
          node,
          "LiteLLM does not enforce it with this strategy; if it has to be kept, set a limit under limits",
        );
    }
  }
}
