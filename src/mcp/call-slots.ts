// Slots for concurrent calls; a call without a free slot waits in a queue. Where calls of several tenants share the slots,
// their tenants take turns.

export interface CallSlots {
  /**
   * Undefined when a slot is free at once; otherwise resolves when it is the caller's turn. A caller that stops waiting
   * has to call `giveUp`. Those that wait with the same `tenantId` come one after the other, and each tenant is next in
   * turn, however many of another wait.
   */
  take(max: number, tenantId?: string): Promise<void> | undefined;
  /** Called when a waiting call was cancelled. If it already had its slot, the slot is freed. */
  giveUp(waiting: Promise<void>): void;
  free(): void;
  readonly inUse: number;
}

export function openCallSlots(): CallSlots {
  let inUse = 0;
  /** Those that wait, by tenant; the tenants in the order of their turns. */
  const queues = new Map<string, Map<Promise<void>, () => void>>();
  const tenantOf = new Map<Promise<void>, string>();
  const places: CallSlots = {
    get inUse() {
      return inUse;
    },
    take(max, tenantId = "") {
      if (inUse < max) {
        inUse += 1;
        return undefined;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      queues.getOrInsertComputed(tenantId, () => new Map()).set(promise, resolve);
      tenantOf.set(promise, tenantId);
      return promise;
    },
    giveUp(waiting) {
      const tenantId = tenantOf.get(waiting);
      // The promise is in no queue any more: it got its slot while the call was cancelled.
      if (tenantId === undefined) return places.free();
      tenantOf.delete(waiting);
      const queue = queues.get(tenantId)!;
      queue.delete(waiting);
      if (queue.size === 0) queues.delete(tenantId);
    },
    free() {
      const [next] = queues;
      if (next === undefined) {
        inUse -= 1;
        return;
      }
      const [tenantId, queue] = next;
      const [[waiting, resolve]] = queue as unknown as readonly [readonly [Promise<void>, () => void]];
      queue.delete(waiting);
      tenantOf.delete(waiting);
      queues.delete(tenantId);
      if (queue.size > 0) queues.set(tenantId, queue);
      resolve();
    },
  };
  return places;
}
