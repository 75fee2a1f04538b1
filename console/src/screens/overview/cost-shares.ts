// Who and what costs most, from the values of the dimensions of calls: the largest of each, with its part of the whole cost.
import type { CallFacet } from "../../api/types.ts";
import { nanoUsd } from "../../format/money.ts";

export interface Ranked {
  readonly dimension: CallFacet["dimension"];
  readonly title: string;
  readonly rows: readonly {
    readonly value: string;
    readonly costUsd: string;
    /** From 0 to 1. */
    readonly share: number;
  }[];
}

const TITLES = {
  project: "Projects",
  user: "Users",
  token: "Access tokens",
  model: "Models",
  route: "Routes",
  provider: "Providers",
} as const satisfies Partial<Record<CallFacet["dimension"], string>>;

/** A dimension in which nothing cost anything is left out, and so is the project of a page about one project. */
export function costShares(facets: readonly CallFacet[], totalUsd: string, hasProject: boolean): readonly Ranked[] {
  const total = Number(nanoUsd(totalUsd) ?? 0n);
  return (Object.keys(TITLES) as (keyof typeof TITLES)[])
    .filter((dimension) => !(hasProject && dimension === "project"))
    .map((dimension) => ({
      dimension,
      title: TITLES[dimension],
      rows: facets.flatMap(({ dimension: of, value, cost_usd: costUsd }) => {
        const cost = nanoUsd(costUsd) ?? 0n;
        if (of !== dimension || value === null || costUsd === null || cost <= 0n || total <= 0) return [];
        return [{ value, costUsd, share: Math.min(1, Number(cost) / total) }];
      }),
    }))
    .filter(({ rows }) => rows.length > 0);
}
