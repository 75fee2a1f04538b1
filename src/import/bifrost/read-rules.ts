// Reads Bifrost's routing rules: those that are asked of all calls, in their order.
// https://docs.getbifrost.ai/providers/routing-rules
import { isOn, numberOf, textOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { whyUnserved } from "../unserved-models.ts";
import type { Fleet } from "./accounts.ts";
import type { KeyGroup } from "./key-routes.ts";

export interface RuleTarget {
  readonly node: ForeignNode;
  /** `null` for what the call asks for. */
  readonly provider: string | null;
  readonly model: string | null;
  readonly weight: number;
  /** The key of the provider to which it is confined. */
  readonly key: ForeignNode | undefined;
}

export interface Rule {
  readonly node: ForeignNode;
  readonly expression: string;
  readonly targets: readonly RuleTarget[];
  readonly fallbacks: readonly RuleTarget[];
  readonly isChained: boolean;
}

export const PASSED_ON = "calls that it was for go by the other rules";
const OF_OTHERS =
  "rules of keys, teams and customers are not taken over, because these are made anew; a route of a project is for its calls alone";

/** Those of all calls that are on, in the order in which they are asked. */
export function readRules(list: ForeignNode, fleet: Fleet, context: ImportContext): readonly Rule[] {
  const { claims } = context;
  return list.items
    .flatMap((node): readonly Rule[] => {
      const { members } = node;
      const enabled = members.get("enabled");
      const scope = textOf(members.get("scope")) ?? "global";
      if (enabled?.kind === "scalar" && enabled.value !== null && !isOn(enabled)) {
        claims.without(node, "the rule is off");
        return [];
      }
      const rule: Rule = {
        node,
        expression: textOf(members.get("cel_expression")) ?? "",
        targets: targetsOf(node, fleet, context),
        fallbacks: (members.get("fallbacks")?.items ?? []).flatMap((item) => fallbackOf(item, fleet, context)),
        isChained: isOn(members.get("chain_rule")),
      };
      if (scope !== "global") leaveOut(rule, OF_OTHERS, context);
      else if (rule.targets.length === 0) leaveOut(rule, "none of its targets was taken over", context);
      else if (rule.isChained && rule.targets.length > 1)
        leaveOut(
          rule,
          `the rules after a chained one would depend on which of its targets is drawn; ${PASSED_ON}`,
          context,
        );
      else return [rule];
      return [];
    })
    .toSorted((a, b) => priorityOf(a) - priorityOf(b));
}

function priorityOf({ node }: Rule): number {
  return numberOf(node.members.get("priority")) ?? 0;
}

/** The report says of all of the rule why it has no counterpart, and that its targets are missing. */
export function leaveOut({ node, targets }: Rule, why: string, { claims }: ImportContext): void {
  claims.without(node, why);
  for (const target of targets) claims.target(target.node, () => []);
}

function targetsOf(node: ForeignNode, fleet: Fleet, context: ImportContext): readonly RuleTarget[] {
  const items = node.members.get("targets")?.items ?? [];
  // earlier versions have one target, whose members stand in the rule
  const nodes = items.length > 0 ? items : node.members.has("provider") || node.members.has("model") ? [node] : [];
  const hasWeight = nodes.some((each) => weightOf(each) > 0);
  return nodes.flatMap((each): readonly RuleTarget[] => {
    const target = targetOf(each, hasWeight ? weightOf(each) : 1);
    if (target.weight <= 0) {
      context.claims.without(each, "no call goes to a target without weight");
      return [];
    }
    return isServed(target, fleet, context) ? [target] : [];
  });
}

/** What a mapping names, with the weight that it has among others. */
function targetOf(node: ForeignNode, weight: number): RuleTarget {
  const { members } = node;
  return {
    node,
    provider: textOf(members.get("provider")),
    model: textOf(members.get("model")),
    weight,
    key: keyOf(node),
  };
}

function keyOf({ members }: ForeignNode): ForeignNode | undefined {
  return ["key_id", "provider_key_name"].map((name) => members.get(name)).find((node) => textOf(node) !== null);
}

function weightOf({ members }: ForeignNode): number {
  return numberOf(members.get("weight")) ?? 1;
}

/**
 * `"provider/model"`, `"provider/"`, or a mapping. Bifrost passes over a text without a provider:
 * https://github.com/maximhq/bifrost/blob/main/plugins/governance/main.go
 */
function fallbackOf(node: ForeignNode, fleet: Fleet, context: ImportContext): readonly RuleTarget[] {
  const text = textOf(node);
  const at = text?.indexOf("/") ?? -1;
  if (text !== null && at <= 0) {
    context.claims.without(
      node,
      "Bifrost passes over it, because it names no provider; write <provider>/<model>, or <provider>/ for the model of the call, and import again",
    );
    return [];
  }
  const target: RuleTarget = {
    ...targetOf(node, 1),
    ...(text !== null && { provider: text.slice(0, at), model: text.slice(at + 1) || null }),
  };
  return isServed(target, fleet, context) ? [target] : [];
}

function isServed(target: RuleTarget, { providers }: Fleet, { claims }: ImportContext): boolean {
  const { node, provider, model, key } = target;
  const groups = provider === null ? [] : (providers.get(provider) ?? []);
  const why =
    (model === null ? null : whyUnserved(model)) ??
    (provider !== null && groups.length === 0 ? "no provider that was taken over has this name" : null) ??
    (key !== undefined && !groups.some((group) => hasKey(group, key))
      ? "no key that was taken over has this name"
      : null);
  if (why === null) return true;
  claims.missing(node, why);
  return false;
}

export function hasKey({ keys }: KeyGroup, wanted: ForeignNode): boolean {
  const name = textOf(wanted);
  return keys.some(({ members }) => [members.get("id"), members.get("name")].some((node) => textOf(node) === name));
}
