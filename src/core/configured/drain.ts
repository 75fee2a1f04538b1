// Drains: providers, or single models of them, to which a tenant sends no calls until a given time. A drain ends by
// itself.

// Decides (targets and attempts): From which targets are calls kept for a time? By: `drainOf`. Also: asked by
// `engine/plan/candidate.ts` (`permit`); begun and ended by `http/admin/health/drains.ts`. Rule: A drain is a row of the
// store and part of each snapshot; it ends by its own time.

export interface Drain {
  readonly tenantId: string;
  /** The provider's id, as in `<provider>:<model_name>`. */
  readonly provider: string;
  /** `null` for all models of the provider. */
  readonly model: string | null;
  readonly untilMs: number;
  /** Why, in the words of whoever began it. */
  readonly note: string | null;
  /** Id of the user who began it, or `token:` and the id of the token that did. */
  readonly begunBy: string;
  readonly begunAtMs: number;
}

/** By tenant; also those that have ended. */
export type DrainSet = ReadonlyMap<string, readonly Drain[]>;

/** Returns the drain that keeps calls from a model, the one that ends last; `null` when the model may be called. */
export function drainOf(
  drains: DrainSet,
  tenantId: string,
  { provider, model }: { readonly provider: string; readonly model: string },
  nowMs: number,
): Drain | null {
  // Some providers ignore the letter case of their models' names.
  const folded = model.toLowerCase();
  let last: Drain | null = null;
  for (const drain of drains.get(tenantId) ?? []) {
    if (drain.provider !== provider || (drain.model !== null && drain.model.toLowerCase() !== folded)) continue;
    if (drain.untilMs > nowMs && drain.untilMs > (last?.untilMs ?? 0)) last = drain;
  }
  return last;
}
