// Targets of a route as the form shows them, and what a change of their order means in words.
import type { Fields } from "../../configured/fields.ts";

export interface RouteTarget {
  readonly model: string;
  readonly weight: number | null;
  readonly order: number | null;
  /** Names of the other settings of this target. */
  readonly further: readonly string[];
}

const SHOWN: ReadonlySet<string> = new Set(["model", "weight", "order"]);

export function targetsOf(fields: Fields): readonly RouteTarget[] {
  const { targets } = fields;
  if (!Array.isArray(targets)) return [];
  return targets.map((target: unknown) => {
    if (typeof target !== "object" || target === null)
      return { model: typeof target === "string" ? target : "", weight: null, order: null, further: [] };
    const { model, weight, order, ...rest } = target as Record<string, unknown>;
    return {
      model: typeof model === "string" ? model : "",
      weight: typeof weight === "number" ? weight : null,
      order: typeof order === "number" ? order : null,
      further: Object.keys(rest).filter((name) => !SHOWN.has(name)),
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
  return [...added, ...removed, ...moved];
}

/** Such as `weighted`, also where the strategy is a mapping. */
export function strategyOf(fields: Fields): string {
  const { strategy } = fields;
  if (typeof strategy === "string") return strategy;
  const type = (strategy as { readonly type?: unknown } | undefined)?.type;
  return typeof type === "string" ? type : "priority";
}
