// Collects what the entries of journals state of limits: the last count of each account, and where a supervisor counted,
// what each call of its workers held or used. A process that was killed has written these entries, but may not have stored
// its counts since.
import type { CallRecord } from "../../core/record/record.ts";
import type { JournalledCount, JournalledHold } from "./limit-counts.ts";

type CountedRow = Pick<CallRecord, "traceId" | "tenantId" | "limits">;

export class JournalledCounts {
  readonly #last = new Map<string, JournalledCount>();
  /** Of each call with several processes, what its last entry states. */
  readonly #holds = new Map<string, readonly JournalledHold[]>();

  /** Takes the text of an entry; a text that cannot be parsed is ignored. The entries of a call are taken in their order. */
  readonly onEntry = (text: string): void => {
    const row = rowOf(text);
    this.#takeHolds(row);
    const { tenantId, limits } = row;
    if (tenantId == null) return;
    for (const { id, value, unit, after, counted } of limits ?? []) {
      if (counted === undefined || counted.holder !== undefined) continue;
      const { kind, window, stamp, run } = counted;
      const key = JSON.stringify([tenantId, id, kind, unit, window, value, run]);
      if (stamp > (this.#last.get(key)?.stamp ?? 0))
        this.#last.set(key, { tenantId, id, kind, unit, window, value, run, stamp, total: after });
    }
  };

  /** Takes only what a call of a worker held: for journals of processes that still run. */
  readonly onHold = (text: string): void => {
    if (text.includes(HOLDER)) this.#takeHolds(rowOf(text));
  };

  get all(): readonly JournalledCount[] {
    return [...this.#last.values()];
  }

  get holds(): readonly JournalledHold[] {
    return [...this.#holds.values()].flat();
  }

  #takeHolds({ traceId, tenantId, limits }: Partial<CountedRow>): void {
    if (tenantId == null || traceId === undefined) return;
    const holds = (limits ?? []).flatMap(({ id, value, unit, reserved, settled, counted }): JournalledHold[] => {
      if (counted?.holder === undefined) return [];
      const { kind, window, stamp, run, holder, settlement } = counted;
      const units = settlement === undefined ? reserved : (settled ?? 0);
      return [{ tenantId, id, kind, unit, window, value, run, stamp, holder, settlement, units }];
    });
    if (holds.length > 0) this.#holds.set(traceId, holds);
  }
}

const HOLDER = '"holder":';

function rowOf(text: string): Partial<CountedRow> {
  try {
    return JSON.parse(text) as Partial<CallRecord>;
  } catch {
    return {};
  }
}
