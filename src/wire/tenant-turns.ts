// Work that is done one piece at a time, in turns of tenants: whoever brings much waits for themselves, and not everybody else for them.

export interface TenantTurns {
  /** Does the work when it is the tenant's turn. */
  run<T>(tenantId: string, work: () => Promise<T>): Promise<T>;
}

export function openTenantTurns(): TenantTurns {
  /** In the order of whose turn it is. */
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
    // behind the others
    waiting.delete(tenantId);
    if (begins.length > 0) waiting.set(tenantId, begins);
    begin();
  };

  return {
    async run(tenantId, work) {
      if (isBusy) {
        await new Promise<void>((begin) => {
          const begins = waiting.get(tenantId);
          if (begins === undefined) waiting.set(tenantId, [begin]);
          else begins.push(begin);
        });
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
