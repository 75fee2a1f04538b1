// Fallbacks of LiteLLM, of all kinds, between names of models. Here they lead from route to route and may not go round,
// as they may there: where one would, the targets of the other route are listed instead.
// https://docs.litellm.ai/docs/proxy/reliability
import { itemsOf, textOf } from "../figures.ts";
import { MODEL_ID } from "../../providers/settings.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Value } from "../reference.ts";
import type { Deployment } from "./deployment.ts";
import { type Group, targetOf } from "./groups.ts";

const MAX_ENTRIES = 100;
/** Every other name. */
const ANY = "*";

/** One name in a list of fallbacks. */
interface Wish {
  readonly to: Group | null;
  /** For a name that a deployment with a wildcard serves: its target. */
  readonly target: string | null;
  readonly node: ForeignNode;
}

/** The lists by name of the model that they are for. */
type Wishes = ReadonlyMap<string, readonly Wish[]>;

export interface RouteFallbacks {
  readonly fallbacks?: readonly Value[];
  readonly content_policy_fallbacks?: readonly Value[];
  readonly context_window_fallbacks?: Readonly<Record<string, string>>;
}

/** Returns what the route of each group falls back to. `wildcards` serve names that no group has, and `lists` has the settings of LiteLLM by name. */
export function importFallbacks(
  groups: readonly Group[],
  wildcards: readonly Deployment[],
  lists: ReadonlyMap<string, ForeignNode>,
  context: ImportContext,
): ReadonlyMap<Group, RouteFallbacks> {
  const names: Names = { byName: new Map(groups.map((group) => [group.name, group])), wildcards };
  const wishes = (key: string): Wishes => wishesOf(lists.get(key), names, context);
  const defaults = (lists.get("default_fallbacks")?.items ?? []).map((node) => wishOf(node, names));
  const general = withDefaults(wishes("fallbacks"), defaults, groups);
  const fallbacks = withoutLoops(general, "fallbacks", groups, context);
  if (wildcards.length > 0) context.claims.without(lists.get("default_fallbacks"), OF_WILDCARDS);
  context.claims.without(
    lists.get("default_fallbacks"),
    "every model that was taken over has fallbacks of its own, or is this one",
  );
  const refused = withoutLoops(wishes("content_policy_fallbacks"), "content_policy_fallbacks", groups, context);
  const tooLong = wishes("context_window_fallbacks");
  return new Map(
    groups.map((group): [Group, RouteFallbacks] => [
      group,
      {
        ...listed("fallbacks", fallbacks.get(group)),
        ...listed("content_policy_fallbacks", refused.get(group)),
        ...windowFallbacks(group, listOf(group, tooLong) ?? [], context),
      },
    ]),
  );
}

function listed(
  key: "fallbacks" | "content_policy_fallbacks",
  entries: readonly string[] | undefined,
): Pick<RouteFallbacks, typeof key> {
  return entries === undefined || entries.length === 0 ? {} : { [key]: entries };
}

const UNKNOWN_NAME = "model_list has no model with this name";
const OF_WILDCARDS =
  "fallbacks belong to routes, and models of a wildcard are called without one; give each that needs them an entry of its own in model_list and import again";

/** `[{name: [other, ...]}, ...]`, or the same as one mapping. */
function wishesOf(list: ForeignNode | undefined, names: Names, { claims }: ImportContext): Wishes {
  const wishes = new Map<string, Wish[]>();
  for (const mapping of list === undefined ? [] : list.kind === "mapping" ? [list] : list.items)
    for (const [from, others] of mapping.members) {
      if (from !== ANY && !names.byName.has(from)) {
        const isServed = names.wildcards.some((each) => servedBy(each, from) !== null);
        claims.without(others, isServed ? OF_WILDCARDS : UNKNOWN_NAME);
        continue;
      }
      const found = itemsOf(others).map((node) => wishOf(node, names));
      wishes.set(from, [...(wishes.get(from) ?? []), ...found]);
    }
  return wishes;
}

/** What a name in a list can stand for. */
interface Names {
  readonly byName: ReadonlyMap<string, Group>;
  readonly wildcards: readonly Deployment[];
}

/** A name in a list stands by itself, or as the model of a mapping with further settings. */
function nameIn(node: ForeignNode): ForeignNode | undefined {
  return node.kind === "mapping" ? node.members.get("model") : node;
}

function wishOf(node: ForeignNode, { byName, wildcards }: Names): Wish {
  const name = textOf(nameIn(node)) ?? "";
  const to = byName.get(name) ?? null;
  const targets = to === null ? wildcards.flatMap((each) => servedBy(each, name) ?? []) : [];
  return { to, target: targets[0] ?? null, node };
}

/** The target of a name such as `openai/gpt-x` at a deployment that is called `openai/*`. */
function servedBy({ group, model, providerId }: Deployment, name: string): string | null {
  const prefix = group.endsWith("/*") ? group.slice(0, -1) : null;
  if (prefix === null || !name.startsWith(prefix) || name === prefix) return null;
  const served = model.replace("*", () => name.slice(prefix.length));
  return MODEL_ID.test(served) ? `${providerId}:${served}` : null;
}

/** An alias has the list of what it stands for. */
function ownList({ name, source }: Group, wishes: Wishes): readonly Wish[] | undefined {
  return wishes.get(name) ?? wishes.get(source);
}

function listOf(group: Group, wishes: Wishes): readonly Wish[] | undefined {
  return ownList(group, wishes) ?? wishes.get(ANY);
}

/** Names without a list of their own have that of `*`, or else the default one. */
function withDefaults(wishes: Wishes, defaults: readonly Wish[], groups: readonly Group[]): Wishes {
  const others = wishes.get(ANY) ?? defaults;
  return new Map(
    groups.map((group) => [
      group.name,
      ownList(group, wishes) ?? others.filter(({ to }) => to === null || to.source !== group.source),
    ]),
  );
}

function withoutLoops(
  wishes: Wishes,
  key: string,
  groups: readonly Group[],
  { claims }: ImportContext,
): ReadonlyMap<Group, readonly string[]> {
  const edges = new Map<Group, Set<Group>>();
  const reaches = (from: Group, to: Group, seen = new Set<Group>()): boolean => {
    if (from === to) return true;
    if (seen.has(from)) return false;
    seen.add(from);
    return [...(edges.get(from) ?? [])].some((next) => reaches(next, to, seen));
  };
  const entryOf = (group: Group, { to, target, node }: Wish): readonly string[] => {
    const at = `routes.${group.route}.${key}`;
    if (target !== null) {
      claims.taken(nameIn(node), at);
      return [target];
    }
    if (to === null) {
      claims.without(node, "no model that was taken over has this name");
      return [];
    }
    if (to === group) {
      claims.without(node, "a route does not fall back to itself");
      return [];
    }
    if (reaches(to, group)) {
      claims.changed(
        node,
        at,
        `the targets of ${to.route} are listed${withoutParameters(to.deployments)}, because that route falls back to this one`,
      );
      return to.deployments.map(targetOf);
    }
    edges.set(group, (edges.get(group) ?? new Set()).add(to));
    claims.taken(nameIn(node), at);
    return [`route:${to.route}`];
  };
  const entriesOf = (group: Group): readonly string[] => {
    const entries = new Set<string>();
    for (const wish of listOf(group, wishes) ?? []) {
      const isFull = entries.size + (wish.to?.deployments.length ?? 0) > MAX_ENTRIES;
      if (isFull) claims.without(wish.node, `a route has at most ${MAX_ENTRIES} fallbacks`);
      else for (const entry of entryOf(group, wish)) entries.add(entry);
    }
    return [...entries];
  };
  return new Map(groups.map((group) => [group, entriesOf(group)]));
}

/** Here the fallback is a model, and each target has one of its own. */
function windowFallbacks(
  group: Group,
  wishes: readonly Wish[],
  { claims }: ImportContext,
): Pick<RouteFallbacks, "context_window_fallbacks"> {
  const [first, ...further] = wishes.filter(({ to, target }) => target !== null || (to !== null && to !== group));
  for (const { to, target, node } of wishes)
    if (to === null && target === null) claims.without(node, "no model that was taken over has this name");
  for (const { node } of further) claims.without(node, "there is one model for conversations that are too long");
  if (first === undefined) return {};
  const [deployment] = first.target === null ? first.to!.deployments : [];
  const other = first.target ?? targetOf(deployment!);
  claims.changed(
    first.node,
    `routes.${group.route}.context_window_fallbacks`,
    `conversations that are too long go to ${other}${withoutParameters(deployment === undefined ? [] : [deployment])}`,
  );
  const pairs = group.deployments.map(targetOf).filter((target) => modelOf(target) !== modelOf(other));
  return pairs.length === 0 ? {} : { context_window_fallbacks: Object.fromEntries(pairs.map((from) => [from, other])) };
}

/** A fallback that is a model has none of the parameters that deployments have in their own routes. */
function withoutParameters(deployments: readonly Deployment[]): string {
  const haveSome = deployments.some(({ params, drop }) => Object.keys(params).length > 0 || drop.length > 0);
  return haveSome ? ", without their parameters" : "";
}

const modelOf = (target: string): string => target.slice(target.indexOf(":") + 1);
