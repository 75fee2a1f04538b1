// The supervisor's side of the limits: it reserves and settles in its limit store for the workers. What a worker holds when
// it dies is settled by its journal: a call that had ended is charged what it used, one that had not what it reserved, and
// one that is not in the journal had sent nothing.

// Decides (records and configuration): What is charged for what a dead worker had reserved? By: `endCall`. Rule: What
// its journal says of the call.
import { type MaybePromise, whenReady } from "../../core/maybe-promise.ts";
import type { Clock } from "../../core/clock.ts";
import { type Account, countsAttempts, type LimitRule } from "../../core/configured/limit.ts";
import type { LimitOutcome } from "../../core/record/record.ts";
import {
  isShortage,
  type LimitStore,
  type Need,
  type Reservation,
  type Shortage,
} from "../../admission/limit-store.ts";
import { inspectJournal } from "../../store/journal/journal-recovery.ts";
import { ALL_SETTLED, type SettledFile } from "../../store/journal/limit-holders.ts";
import { traceIdOf } from "../../store/journal/journal-row.ts";
import { parseCallRecord } from "../../wire/json/record-json.ts";
import { changesWire, readingWire, type ReservedWire, type ReserveWire, statusWire } from "./limit-messages.ts";
import type { WorkerChannel } from "./messages.ts";

interface HeldReservation {
  /** The worker's number of it, which the outcome in the record has as well. */
  readonly id: number;
  readonly call: string;
  readonly reservation: Reservation;
  /** For each need, whether it has not been settled. */
  readonly isOpen: boolean[];
}

export interface HolderOptions {
  /** The name of the worker. */
  readonly holder: string;
  readonly clock: Clock;
  /** Where a limit store that is shared with other machines notes what it has applied; `null` for any other. */
  readonly settledFile: SettledFile | null;
}

/** What one worker has reserved. */
export class WorkerReservations {
  readonly #options: HolderOptions;
  readonly #limits: LimitStore;
  readonly #rules = new Map<number, LimitRule>();
  readonly #held = new Map<number, HeldReservation>();
  /** How many settlements of this worker have been applied. */
  #settlements = 0;
  #isEnded = false;

  constructor(limits: LimitStore, channel: WorkerChannel, options: HolderOptions) {
    const { holder, settledFile } = options;
    this.#options = options;
    this.#limits = limits;
    channel.handle("reserve", (wire) => this.#reserve(wire, channel));
    channel.handle("settle", (all) => {
      this.#settlements += all.length;
      if (settledFile !== null) limits.settling?.(settledFile.path, this.#settlements);
      for (const [id, used] of all) this.#settle(id, used);
      settledFile?.applied(this.#settlements);
      limits.settledThrough?.(holder, this.#settlements);
    });
    channel.handle("limit_status", (account) => whenReady(limits.status(account), readingWire));
    channel.handle("limit_first", ({ rule, value, mark }) => limits.first({ rule, value }, mark));
  }

  /**
   * Settles what is open of a worker that has ended. `journalOf` returns what its journal has of these calls, or `null`
   * when it cannot be read; it is read before another process takes it over.
   */
  end(journalOf: JournalOfCalls): void {
    this.#isEnded = true;
    const ofCall = Map.groupBy(this.#held.values(), ({ call }) => call);
    this.#held.clear();
    const entries = ofCall.size === 0 ? null : journalOf(ofCall);
    const settledFile = this.#options.settledFile;
    if (settledFile !== null) this.#limits.settling?.(settledFile.path, ALL_SETTLED);
    for (const [call, held] of ofCall)
      endCall(held, entries === null ? "reserved" : (entries.get(call) ?? "nothing"), this.#settlements);
    if (settledFile === null) return;
    settledFile.applied(ALL_SETTLED);
    this.#limits.settledThrough?.(this.#options.holder, ALL_SETTLED);
    settledFile.remove();
  }

  #reserve(wire: ReserveWire, channel: WorkerChannel): MaybePromise<ReservedWire> {
    for (const [number, rule] of wire.rules ?? []) this.#rules.set(number, rule);
    const needs = wire.needs.map(([number, value, units, force]): Need => {
      const rule = this.#rules.get(number);
      if (rule === undefined) throw new Error(`the rule ${number} was not sent`);
      return { account: { rule, value }, units, force: force === 1 };
    });
    return whenReady(this.#limits.reserve(needs, wire.call, this.#options.holder), (answer) =>
      this.#answered(answer, wire, needs, channel),
    );
  }

  #answered(
    answer: Reservation | Shortage,
    { id, call }: ReserveWire,
    needs: readonly Need[],
    channel: WorkerChannel,
  ): ReservedWire {
    if (isShortage(answer)) {
      const { need, status, ...why } = answer;
      return { short: needs.indexOf(need), status: statusWire(status), ...why };
    }
    // The worker has ended meanwhile.
    if (this.#isEnded) answer.release();
    else this.#held.set(id, { id, call, reservation: answer, isOpen: needs.map(() => true) });
    answer.whenLost?.(() => channel.notify("limit_lost", { id }));
    // A store shared with other machines gives no stamp; nothing is compared with this one.
    const { before, after, overdrawn, stamp = this.#options.clock.now() * 1000, run } = answer;
    return {
      accounts: changesWire(before, after),
      ...(overdrawn.length > 0 && { overdrawn }),
      stamp,
      run,
    };
  }

  #settle(id: number, used: readonly (number | null)[]): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    held.reservation.settle(used);
    for (const [index, units] of used.entries()) if (units !== null) held.isOpen[index] = false;
    if (!held.isOpen.includes(true)) this.#held.delete(id);
  }
}

/** What the journal has of a call that a dead worker held: the limits in its last entry, and whether it had ended. */
export interface JournalledLimits {
  readonly limits: readonly LimitOutcome[];
  readonly isClosed: boolean;
}

/** `reserved`: the journal cannot be read. `nothing`: the call is not in it, so it had not begun. */
export type Journalled = JournalledLimits | "reserved" | "nothing";

/** Ends what is open of the reservations of one call. `through` is the last settlement of the worker that has been applied. */
export function endCall(held: readonly HeldReservation[], journalled: Journalled, through = 0): void {
  const isUnsettled = ({ counted }: LimitOutcome): boolean => (counted?.settlement ?? Infinity) > through;
  const charged = new Set<string>();
  /** A rule that counts the call is charged as a whole with its first open reservation, and 0 with the others. */
  const chargeOfCall = (account: Account, limits: JournalledLimits): number => {
    const key = `${account.rule.id}\n${account.value}`;
    if (charged.has(key)) return 0;
    charged.add(key);
    return charge(account, limits, isUnsettled);
  };
  for (const { id, reservation, isOpen } of held)
    reservation.settle(
      reservation.needs.map(({ account, units }, index) => {
        if (isOpen[index] !== true) return null;
        if (account.rule.unit === "concurrency" || journalled === "nothing") return 0;
        if (journalled === "reserved") return units;
        if (countsAttempts(account.rule)) return charge(account, journalled, (outcome) => outcome.reservation === id);
        return chargeOfCall(account, journalled);
      }),
    );
}

/** What the journal says of an account, in those of its outcomes that are meant. */
function charge(
  { rule, value }: Account,
  { limits, isClosed }: JournalledLimits,
  isMeant: (outcome: LimitOutcome) => boolean,
): number {
  return limits
    .filter((one) => one.id === rule.id && one.value === value && one.refused === undefined && isMeant(one))
    .map(({ settled, reserved, counted }) =>
      isClosed || counted?.settlement !== undefined ? (settled ?? 0) : reserved,
    )
    .reduce((sum, each) => sum + each, 0);
}

type JournalOfCalls = (calls: ReadonlyMap<string, unknown>) => ReadonlyMap<string, JournalledLimits> | null;

/** Reads the last entry of each of these calls. `folder` is where the journal is; `null` when the worker had none. */
export function limitsOfCalls(
  folder: string | null,
  calls: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, JournalledLimits> | null {
  if (folder === null) return null;
  const last = new Map<string, string>();
  try {
    const { openings } = inspectJournal(folder, {
      sinceMs: 0,
      onEntry(text) {
        const call = traceIdOf(text);
        if (calls.has(call)) last.set(call, text);
      },
    });
    const open = new Set(openings.map(traceIdOf));
    return new Map(
      [...last].map(([call, text]) => [call, { limits: parseCallRecord(text).limits, isClosed: !open.has(call) }]),
    );
  } catch {
    return null;
  }
}
