// Adds up the usage of several answers, figure by figure.
import type { Usage } from "../core/chat.ts";
import { isObject, type JsonObject } from "../core/json.ts";
import { withUnnamedOf } from "../core/record/usage.ts";

/** No figure becomes larger than an exact integer can be. Returns `null` when one of them has no usage. */
export function summedUsage(parts: readonly (Usage | null)[]): Usage | null {
  const reported = parts.filter((part) => part !== null);
  if (reported.length < parts.length) return null;
  const others = reported.flatMap(({ other_models: models = [] }) => models);
  return withUnnamedOf(
    {
      ...reported.reduce((sum, part) => sumOf(sum, part) as Usage),
      ...(others.length > 0 && { other_models: others }),
    },
    ...reported,
  );
}

function sumOf(one: JsonObject, other: JsonObject): JsonObject {
  const sum: Record<string, JsonObject[string]> = { ...one };
  for (const name in other) {
    const [mine, theirs] = [one[name], other[name]];
    if (typeof mine === "number" && typeof theirs === "number")
      sum[name] = Math.min(mine + theirs, Number.MAX_SAFE_INTEGER);
    else if (isObject(mine) && isObject(theirs)) sum[name] = sumOf(mine, theirs);
    else if (mine === undefined || mine === null) sum[name] = theirs!;
  }
  return sum;
}

/**
 * Returns the usage without the given parts, which are accounted for separately. No figure becomes negative, whatever a
 * provider reports.
 */
export function usageWithout(usage: Usage, parts: readonly Usage[]): Usage {
  const { other_models: _told, ...rest } = usage;
  return parts.reduce<JsonObject>(differenceOf, rest) as Usage;
}

function differenceOf(one: JsonObject, other: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(one).map(([name, mine]) => {
      const theirs = other[name];
      if (typeof mine === "number" && typeof theirs === "number") return [name, Math.max(0, mine - theirs)];
      return [name, isObject(mine) && isObject(theirs) ? differenceOf(mine, theirs) : mine];
    }),
  );
}
