// Runs work one piece at a time, taking turns among tenants, so that a tenant with much work delays mainly its own
// work.

export interface TenantQueue {
  /** Runs the work when it is the tenant's turn. */
  run<T>(tenantId: string, work: () => Promise<T>): Promise<T>;
}

export function openTenantQueue(): TenantQueue {
  /** Tenants in the order of their turns. */
  const waiting = new Map<string, (() => void)[]>();
  let isBusy = false;

  const next = (): void => {
    const [first] = waiting;
    if (first === undefined) {
      isBusy = false;
      return;
    }
    const [tenantId, begins] = first;
    const begin = begins.shift()!;
    // The tenant goes to the end of the queue.
    waiting.delete(tenantId);
    if (begins.length > 0) waiting.set(tenantId, begins);
    begin();
  };

  return {
    async run(tenantId, work) {
      if (isBusy) {
        await new Promise<void>((begin) => void waiting.getOrInsertComputed(tenantId, () => []).push(begin));
      }
      isBusy = true;
      try {
        return await work();
      } finally {
        next();
      }
    },
  };
}
