// Collects the last count that the entries of a journal state for each account of a limit. A process that was killed
// has written these entries, but may not have stored its counts since.
import type { CallRecord } from "../core/record.ts";
import type { JournalledCount } from "./limit-counts.ts";

export class JournalledCounts {
  readonly #last = new Map<string, JournalledCount>();

  /** Takes the text of an entry; a text that cannot be parsed is ignored. */
  readonly onEntry = (text: string): void => {
    const { tenantId, limits } = rowOf(text);
    if (tenantId == null) return;
    for (const { id, value, unit, after, counted } of limits ?? []) {
      if (counted === undefined) continue;
      const { kind, window, stamp, run } = counted;
      const key = JSON.stringify([tenantId, id, kind, unit, window, value, run]);
      if (stamp > (this.#last.get(key)?.stamp ?? 0))
        this.#last.set(key, { tenantId, id, kind, unit, window, value, run, stamp, total: after });
    }
  };

  get all(): readonly JournalledCount[] {
    return [...this.#last.values()];
  }
}

function rowOf(text: string): Partial<Pick<CallRecord, "tenantId" | "limits">> {
  try {
    return JSON.parse(text) as Partial<CallRecord>;
  } catch {
    return {};
  }
}
