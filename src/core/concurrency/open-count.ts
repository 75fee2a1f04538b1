// Counts what is open at the same time, such as streams of events, where a process can hold only a limited number. One
// tenant may use half of that number, and each owner, such as a token, has a limit of its own, so that no caller can use
// up the whole number.
export class OpenCount {
  readonly #most: number;
  readonly #ofTenant = new Map<string, number>();
  readonly #ofOwner = new Map<string, number>();
  #all = 0;

  /** `most` is for all tenants together. */
  constructor(most: number) {
    this.#most = most;
  }

  get all(): number {
    return this.#all;
  }

  /**
   * Returns a function that counts the end, and may be called more than once. Returns `null` when no more may be open: in
   * all, of the tenant, or of the owner, which may have `mostOfOwner`. An owner belongs to one tenant alone, or is counted
   * for all tenants together.
   */
  begin(tenantId: string, owner: string, mostOfOwner: number): (() => void) | null {
    if (
      this.#all >= this.#most ||
      (this.#ofTenant.get(tenantId) ?? 0) >= mostOfTenant(this.#most) ||
      (this.#ofOwner.get(owner) ?? 0) >= mostOfOwner
    )
      return null;
    this.#add(tenantId, owner, 1);
    let hasEnded = false;
    return () => {
      if (!hasEnded) this.#add(tenantId, owner, -1);
      hasEnded = true;
    };
  }

  #add(tenantId: string, owner: string, count: 1 | -1): void {
    this.#all += count;
    changeCount(this.#ofTenant, tenantId, count);
    changeCount(this.#ofOwner, owner, count);
  }
}

export function mostOfTenant(most: number): number {
  return Math.floor(most / 2);
}

/** Changes the count of a key by `change`, which may be negative. A key whose count is 0 has no entry. */
export function changeCount<K>(counts: Map<K, number>, key: K, change: number): void {
  const now = (counts.get(key) ?? 0) + change;
  if (now > 0) counts.set(key, now);
  else counts.delete(key);
}
