// Targets of a route as the form shows them, and what a change of their order means in words.
import type { Fields } from "../../configured/fields.ts";

export interface RouteTarget {
  readonly model: string;
  readonly weight: number | null;
  readonly order: number | null;
  /** The condition; empty when the target is for all calls. */
  readonly when: string;
  /** The percentage of calls that the target is for; `null` when it has no share. */
  readonly share: number | null;
  /** Names of the other settings of this target. */
  readonly further: readonly string[];
}

export function targetsOf(fields: Fields): readonly RouteTarget[] {
  const { targets } = fields;
  if (!Array.isArray(targets)) return [];
  return targets.map((target: unknown) => {
    if (typeof target !== "object" || target === null)
      return {
        model: typeof target === "string" ? target : "",
        weight: null,
        order: null,
        when: "",
        share: null,
        further: [],
      };
    const { model, weight, order, when, share, ...rest } = target as Record<string, unknown>;
    return {
      model: typeof model === "string" ? model : "",
      weight: typeof weight === "number" ? weight : null,
      order: typeof order === "number" ? order : null,
      when: typeof when === "string" ? when : "",
      share: typeof share === "number" ? share : null,
      further: Object.keys(rest),
    };
  });
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
  return [...added, ...removed, ...moved, ...conditionWords(before, after), ...mirrorWords(before, after)];
}

function mirrorWords(before: Fields, after: Fields): readonly string[] {
  const [old, next] = [mirrorOf(before), mirrorOf(after)];
  if (old === next) return [];
  return [next === null ? "No call is copied to a mirror any more." : `${next} gets copies of calls, as a mirror.`];
}

/** The target of the mirror; `null` when there is none. */
function mirrorOf({ mirror }: Fields): string | null {
  const target = (mirror as { readonly target?: unknown } | undefined)?.target;
  return typeof target === "string" ? target : null;
}

/** Which calls the targets that stay are for, where that changes. */
function conditionWords(before: Fields, after: Fields): readonly string[] {
  const old = new Map(targetsOf(before).map((target) => [target.model, target]));
  return targetsOf(after).flatMap(({ model, when, share }): readonly string[] => {
    const known = old.get(model) ?? { when: "", share: null };
    return [
      ...(when === known.when
        ? []
        : [when === "" ? `${model} has no condition any more.` : `${model} is for calls with ${when}.`]),
      ...(share === known.share
        ? []
        : [share === null ? `${model} has no share any more.` : `${model} gets a share of ${share} % of the calls.`]),
    ];
  });
}

/** Such as `weighted`, also where the strategy is a mapping. */
export function strategyOf(fields: Fields): string {
  const { strategy } = fields;
  if (typeof strategy === "string") return strategy;
  const type = (strategy as { readonly type?: unknown } | undefined)?.type;
  return typeof type === "string" ? type : "priority";
}
