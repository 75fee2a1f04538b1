// Routes of Bifrost's providers: names that stand for other names of models, and models that several of its keys serve,
// whose calls are divided by the weights of the keys. https://docs.getbifrost.ai/features/keys-management
import { numberOf, textOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { claimAsked } from "../report.ts";
import { whyUnserved } from "../unserved-models.ts";

const MOST_WEIGHT = 1000;
/** By which share of itself a weight may differ from the whole number that replaces it. */
const TOLERANCE = 0.001;

/** An account here, with the keys of which it was made. */
export interface KeyGroup {
  readonly keys: readonly ForeignNode[];
  /** Empty for all models. */
  readonly models: readonly string[];
  readonly id: string;
}

export interface AskedRoute {
  readonly route: string;
  readonly targets: readonly WeightedTarget[];
}

export interface WeightedTarget {
  /** `<account>:<model>` */
  readonly model: string;
  readonly weight: number;
}

const ENDED = /_key_config$/;

/** What a key has for one cloud, such as its endpoint. */
export function ownConfigOf(key: ForeignNode | undefined): ForeignNode | undefined {
  return [...(key?.members ?? [])].find(([member]) => ENDED.test(member))?.[1];
}

/** A name that stands for another one at one key or more. */
interface AliasRoute {
  readonly alias: string;
  readonly route: string;
  readonly targets: readonly (WeightedTarget & { readonly group: KeyGroup })[];
}

interface Alias {
  readonly group: KeyGroup;
  readonly key: ForeignNode;
  readonly alias: string;
  readonly model: string;
  readonly node: ForeignNode;
}

/** Names that stand for other names of models are routes, which divide the calls where several keys have the name. */
export function importAliases(
  name: string,
  groups: readonly KeyGroup[],
  routes: Map<string, AskedRoute>,
  { claims, draft }: ImportContext,
): readonly AliasRoute[] {
  const all = groups.flatMap(aliasesOf).filter(({ model, node }) => {
    const why = whyUnserved(model);
    if (why !== null) claims.missing(node, why);
    return why === null;
  });
  return [...Map.groupBy(all, ({ alias }) => alias)].flatMap(([alias, same]): readonly AliasRoute[] => {
    if (same.every(({ model }) => model === alias)) {
      for (const { group, node } of same) claims.taken(node, `${group.id}:${alias}`);
      return [];
    }
    const asked = `${name}/${alias}`;
    const route = draft.routeFor(asked, alias);
    const targets = aliasTargets(alias, same, groups);
    setRoute(route, targets, targets.length > 1, draft);
    routes.set(asked, { route, targets: targets.map(({ model, weight }) => ({ model, weight })) });
    for (const { group, model, node } of same) {
      claimAsked(node, asked, route, claims);
      claims.target(node, `${group.id}:${model} in routes.${route}`);
    }
    return [{ alias, route, targets }];
  });
}

function aliasesOf(group: KeyGroup): readonly Alias[] {
  return group.keys.flatMap((key) => {
    const config = ownConfigOf(key)?.members;
    const lists = [key.members.get("aliases"), config?.get("deployments"), config?.get("aliases")];
    return lists.flatMap((list) =>
      Array.from(list?.members ?? [], ([alias, node]) => ({
        group,
        key,
        alias,
        model: textOf(node) ?? "",
        node,
      })).filter(({ model }) => model !== ""),
    );
  });
}

/** Also the accounts that list the name as a model of their own. */
function aliasTargets(alias: string, same: readonly Alias[], groups: readonly KeyGroup[]): AliasRoute["targets"] {
  const others = groups.filter((group) => group.models.includes(alias) && !same.some((each) => each.group === group));
  const parts = [
    ...same.map(({ group, key, model }) => ({ group, model, weight: numberOf(key.members.get("weight")) ?? 1 })),
    ...others.map((group) => ({ group, model: alias, weight: weightOf(group) })),
  ];
  const targets = [...Map.groupBy(parts, ({ group, model }) => `${group.id}:${model}`)].map(([model, equal]) => ({
    key: { model, group: equal[0]!.group },
    weight: equal.reduce((sum, { weight }) => sum + weight, 0),
  }));
  return wholeWeights(targets).map(({ key, weight }) => ({ ...key, weight }));
}

function setRoute(
  route: string,
  targets: readonly WeightedTarget[],
  isDivided: boolean,
  draft: ImportContext["draft"],
): void {
  draft.set("routes", [route], {
    ...(isDivided && { strategy: "weighted" }),
    targets: targets.map(({ model, weight }) => (isDivided && weight !== 1 ? { model, weight } : model)),
  });
}

/**
 * Models that several accounts of one provider serve, or one account that does not have the provider's name: a route
 * divides the calls by the weights of the keys, as Bifrost does. Keys for any model get calls of the models of --model.
 */
export function importSharedModels(
  name: string,
  groups: readonly KeyGroup[],
  aliases: readonly AliasRoute[],
  routes: Map<string, AskedRoute>,
  { claims, choices, draft }: ImportContext,
): ReadonlyMap<KeyGroup, readonly string[]> {
  const isDivided = groups.length > 1 || groups[0]!.id !== name;
  const isOpen = isDivided && groups.some(({ models }) => models.length === 0);
  const models = [...new Set([...groups.flatMap((group) => group.models), ...(isOpen ? choices.models : [])])];
  const written = new Map<KeyGroup, string[]>(groups.map((group) => [group, []]));
  for (const { alias, route, targets } of aliases)
    for (const { group, model } of targets)
      if (targets.length > 1 || (models.includes(alias) && group.id !== name))
        written.get(group)!.push(`${model} in routes.${route}`);
  const isAlias = new Set(aliases.map(({ alias }) => alias));
  for (const model of models.filter((each) => whyUnserved(each) === null && !isAlias.has(each))) {
    const serving = groups.filter((group) => group.models.length === 0 || group.models.includes(model));
    const [only] = serving;
    if (serving.length === 1 && only!.id === name) continue;
    const targets = targetsAt(serving, model);
    const asked = `${name}/${model}`;
    const route = draft.routeFor(asked, `${name}-${model}`);
    setRoute(route, targets, true, draft);
    routes.set(asked, { route, targets });
    for (const group of serving) written.get(group)!.push(`${group.id}:${model} in routes.${route}`);
  }
  for (const [group, places] of written) {
    const { id, keys } = group;
    // calls of the provider's models reach the account of its name
    const at = () => (id === name ? [...places, `providers.${id}`] : places);
    const why = groups.length > 1 ? NO_ROUTE : renamedWords(name, id);
    for (const key of keys) {
      const weight = key.members.get("weight");
      claims.target(key, at, why);
      if (groups.length > 1 && places.length > 0)
        claims.changed(
          weight,
          () => places.map((place) => `weight of ${place}`),
          "the keys have accounts of their own, among which routes divide the calls",
        );
      else if (groups.length > 1) claims.without(weight, NO_ROUTE);
      else claims.without(weight, "the only key of an account needs no weight");
      if (id !== name && places.length === 0) claims.without(key, why);
    }
  }
  return written;
}

/** The model at each of the accounts, among which calls are divided by the weights of their keys. */
export function targetsAt(groups: readonly KeyGroup[], model: string): readonly WeightedTarget[] {
  const weights = wholeWeights(groups.map((group) => ({ key: group, weight: weightOf(group) })));
  return weights.map(({ key: { id }, weight }) => ({ model: `${id}:${model}`, weight }));
}

const NO_ROUTE =
  "each of these keys has an account of its own, and no route divides the calls of any model among them; name the models with --model and import again";

export function renamedWords(name: string, id: string): string {
  return `the account is called ${id}, because a known provider has the id ${name}, and no route leads to it under its old name; name its models with --model and import again`;
}

function weightOf({ keys }: KeyGroup): number {
  return keys.reduce((sum, key) => sum + (numberOf(key.members.get("weight")) ?? 1), 0);
}

/** The smallest whole numbers with the same proportions: 7 and 3 for 0.7 and 0.3. */
export function wholeWeights<Key>(
  values: readonly { readonly key: Key; readonly weight: number }[],
): readonly { readonly key: Key; readonly weight: number }[] {
  const drawn = values.filter(({ weight }) => weight > 0);
  // where none has a weight, each gets the same
  const used = drawn.length > 0 ? drawn : values.map(({ key }) => ({ key, weight: 1 }));
  const weights = used.map(({ weight }) => weight);
  const [least, greatest] = [Math.min(...weights), Math.max(...weights)];
  const most = Math.max(1, Math.floor((MOST_WEIGHT * least) / greatest));
  const isWhole = (weight: number): boolean => Math.abs(weight - Math.round(weight)) <= weight * TOLERANCE;
  let scale = 1;
  while (scale < most && !weights.every((weight) => isWhole((weight / least) * scale))) scale++;
  return used.map(({ key, weight }) => ({
    key,
    weight: Math.min(MOST_WEIGHT, Math.round((weight / least) * scale)),
  }));
}
