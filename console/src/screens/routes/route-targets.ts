// Targets and fallbacks of a route as the form shows and changes them, and what a change of their order means in words.
import type { Fields } from "../../configured/merge-patch.ts";
import { withValue, type YamlText } from "../../configured/yaml-text.ts";

/** The lists of a route whose entries have conditions. */
export type EntryList = "targets" | "fallbacks";

export interface RouteEntry {
  /** A model; for a fallback, also `route:<name>`. */
  readonly model: string;
  /** As `order`, of targets only. */
  readonly weight: number | null;
  readonly order: number | null;
  /** The condition; empty when the entry is for all calls. */
  readonly when: string;
  /** The percentage of calls that the entry is for; `null` when it has no share. */
  readonly share: number | null;
  /** Names of the other settings of this entry. */
  readonly further: readonly string[];
}

export function targetsOf(fields: Fields): readonly RouteEntry[] {
  return entriesOf(fields, "targets");
}

export function entriesOf(fields: Fields, list: EntryList): readonly RouteEntry[] {
  const entries = fields[list];
  if (!Array.isArray(entries)) return [];
  return entries.map((entry: unknown): RouteEntry => {
    if (typeof entry !== "object" || entry === null) return { ...NOTHING_SET, model: textOf(entry) };
    const { model, when, share, ...others } = entry as Record<string, unknown>;
    const common = { when: textOf(when), share: numberOf(share) };
    if (list === "targets") {
      const { weight, order, ...further } = others;
      return {
        model: textOf(model),
        weight: numberOf(weight),
        order: numberOf(order),
        ...common,
        further: Object.keys(further),
      };
    }
    // whatever else a fallback has is a parameter
    const { route, ...further } = others;
    return {
      ...NOTHING_SET,
      model: typeof route === "string" ? `${ROUTE}${route}` : textOf(model),
      ...common,
      further: Object.keys(further),
    };
  });
}

const NOTHING_SET: RouteEntry = { model: "", weight: null, order: null, when: "", share: null, further: [] };
const ROUTE = "route:";

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);

/** Renames an entry, which is a text or a mapping. A fallback that is a mapping has its route in a member of its own. */
export function withModel(yaml: YamlText, list: EntryList, index: number, isMapping: boolean, model: string): YamlText {
  if (!isMapping) return withValue(yaml, [list, index], model);
  const isRoute = list === "fallbacks" && model.startsWith(ROUTE);
  const [name, other] = isRoute ? ["route", "model"] : ["model", "route"];
  const renamed = withValue(yaml, [list, index, name], isRoute ? model.slice(ROUTE.length) : model);
  return list === "targets" ? renamed : withValue(renamed, [list, index, other], undefined);
}

/** Sets a member of an entry; one that was a text becomes a mapping. */
export function withMember(
  yaml: YamlText,
  list: EntryList,
  index: number,
  { entry, isMapping }: { readonly entry: RouteEntry; readonly isMapping: boolean },
  name: "weight" | "order" | "share" | "when",
  value: number | string | undefined,
): YamlText {
  if (isMapping) return withValue(yaml, [list, index, name], value);
  if (value === undefined) return yaml;
  const isRoute = list === "fallbacks" && entry.model.startsWith(ROUTE);
  const of = isRoute ? { route: entry.model.slice(ROUTE.length) } : { model: entry.model };
  return withValue(yaml, [list, index], { ...of, [name]: value });
}

export function targetWords(before: Fields, after: Fields): readonly string[] {
  const old = targetsOf(before).map(({ model }) => model);
  const next = targetsOf(after).map(({ model }) => model);
  const added = next.filter((model) => !old.includes(model)).map((model) => `${model} becomes a target.`);
  const removed = old.filter((model) => !next.includes(model)).map((model) => `${model} is no target any more.`);
  const kept = old.filter((model) => next.includes(model));
  const order = next.filter((model) => old.includes(model));
  const moved = order.flatMap((model, index) => {
    const behind = order[index + 1];
    return behind !== undefined && kept.indexOf(model) > kept.indexOf(behind)
      ? [`${model} moves before ${behind}.`]
      : [];
  });
  return [
    ...added,
    ...removed,
    ...moved,
    ...conditionWords(before, after, "targets"),
    ...conditionWords(before, after, "fallbacks"),
    ...mirrorWords(before, after),
  ];
}

function mirrorWords(before: Fields, after: Fields): readonly string[] {
  const [old, next] = [mirrorOf(before), mirrorOf(after)];
  if (old === next) return [];
  return [next === null ? "No call is copied to a mirror any more." : `${next} gets copies of calls, as a mirror.`];
}

/** Returns the target that gets copies of calls; `null` when the route has no mirror. */
function mirrorOf({ mirror }: Fields): string | null {
  const target = (mirror as { readonly target?: unknown } | undefined)?.target;
  return typeof target === "string" ? target : null;
}

/** Which calls the entries of a list are for, where that changes. */
function conditionWords(before: Fields, after: Fields, list: EntryList): readonly string[] {
  const old = new Map(numbered(entriesOf(before, list)));
  return numbered(entriesOf(after, list)).flatMap(([key, { model, when, share }]): readonly string[] => {
    const known = old.get(key) ?? NOTHING_SET;
    const name = list === "targets" ? model : `The fallback ${model}`;
    return [
      ...(when === known.when
        ? []
        : [when === "" ? `${name} has no condition any more.` : `${name} is for calls with ${when}.`]),
      ...(share === known.share
        ? []
        : [share === null ? `${name} has no share any more.` : `${name} gets a share of ${share} % of the calls.`]),
    ];
  });
}

/** A fallback may be in the list several times, for different calls. */
function numbered(entries: readonly RouteEntry[]): readonly (readonly [key: string, entry: RouteEntry])[] {
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    const count = (seen.get(entry.model) ?? 0) + 1;
    seen.set(entry.model, count);
    return [`${count} ${entry.model}`, entry];
  });
}

/** Such as `weighted`, also where the strategy is a mapping. */
export function strategyOf(fields: Fields): string {
  const { strategy } = fields;
  if (typeof strategy === "string") return strategy;
  const type = (strategy as { readonly type?: unknown } | undefined)?.type;
  return typeof type === "string" ? type : "priority";
}
