// The reservations of one call, from its first attempt to its end (promise 4.2). Rules that count the call as a whole
// are reserved with the first attempt and topped up by later ones; rules that count attempts are reserved and settled
// with each attempt. Attempts that have not ended when the call ends are ended with it.
import { type Account, countsAttempts, type LimitRule } from "../core/limit.ts";
import type { CountedHere, LimitOutcome } from "../core/record.ts";
import {
  codeOf,
  isShortage,
  type LimitStore,
  type Need,
  type Reservation,
  type Settled,
  type Shortage,
  type AccountStatus,
} from "./limit-store.ts";
import { Known } from "./rate-headers.ts";
import type { OnCharged } from "./thresholds.ts";

/** The most that one attempt may use. */
export interface ReservationEstimate {
  /** Upstream requests that the attempt sends. */
  readonly requests: number;
  /** In tokens or nano-dollars, by the unit of the rule. `null` when the price is not known. */
  bound(rule: LimitRule): number | null;
}

export interface Used {
  readonly tokens: number;
  readonly nanoUsd: number;
}

/** An attempt that was admitted. */
export interface Admitted {
  /** Marks the attempt as sent: its requests count from now on, and `seen` returns what it has used so far. */
  called(seen: () => Used): void;
  /** Counts the call as a request although nothing has been sent to a provider yet. */
  begun(): void;
  /** Ends the attempt. Later calls have no effect. */
  end(): void;
}

/** An attempt that was refused; nothing was reserved for it. */
export type Refused =
  | { readonly kind: "short"; readonly shortage: Shortage }
  /** A budget counts money, and the price of the model is not known (promise 4.5). */
  | { readonly kind: "unpriced"; readonly account: Account }
  /** The budget sends its calls elsewhere from now on (promise 4.6). */
  | {
      readonly kind: "degraded";
      readonly account: Account;
      readonly standing: AccountStatus;
      readonly degradeTo: string;
    };

export function isRefused(result: Admitted | Refused): result is Refused {
  return "kind" in result;
}

/** An account as this call uses it, either for the whole call or for one attempt. */
interface Held {
  readonly account: Account;
  reserved: number;
  /** Units used by attempts that have ended. */
  used: number;
  /** The most that the attempts in flight may use. */
  running: number;
  /** The latest reservation on this account. Usage beyond all reservations is charged to it. */
  last: Open | null;
  outcome: LimitOutcome | null;
  /** The budget is in audit mode and would have refused the attempt because it has no price. */
  isUnpriced: boolean;
}

interface Open {
  readonly reservation: Reservation;
  /** One entry for each need; `null` once that need has ended. */
  readonly held: (Held | null)[];
}

interface Running {
  readonly held: readonly Held[];
  /** The most that the attempt may use of each account. */
  readonly bounds: readonly number[];
  readonly requests: number;
  readonly open: Open | null;
  /** `null` until the attempt is sent. */
  seen: (() => Used) | null;
  isOver: boolean;
}

const NOTHING: Used = { tokens: 0, nanoUsd: 0 };

export class CallAdmission {
  readonly #store: LimitStore;
  readonly #onCharged: OnCharged;
  readonly #onLost: () => void;
  readonly #touches: LimitOutcome[];
  readonly #ofCall: Held[] = [];
  readonly #opens: Open[] = [];
  readonly #running: Running[] = [];
  /** The latest known standing of each account, for the response headers. */
  readonly known = new Known();
  #wasCalled = false;
  #isClosed = false;
  /** Attempts reserve one after the other: what the second needs depends on what the first was granted. */
  #turn: Promise<unknown> | null = null;

  /** `touches` is the list in the record, which is kept up to date. */
  constructor(store: LimitStore, outcomes: LimitOutcome[], onCharged: OnCharged, onLost: () => void = () => {}) {
    this.#store = store;
    this.#touches = outcomes;
    this.#onCharged = onCharged;
    this.#onLost = onLost;
  }

  /**
   * `degrades` says whether a budget may refuse the attempt because it sends its calls elsewhere. The result is
   * synchronous where no network is needed.
   */
  begin(
    accounts: readonly Account[],
    reservationEstimate: ReservationEstimate,
    degrades: boolean,
  ): Admitted | Refused | Promise<Admitted | Refused> {
    if (this.#turn === null) return this.#begin(accounts, reservationEstimate, degrades);
    return this.#turn.then(() => this.begin(accounts, reservationEstimate, degrades));
  }

  /** Marks everything that the call holds now as recorded: the opening entry of the call is in the ledger. */
  recorded(): void {
    for (const { reservation } of this.#opens) reservation.recorded?.();
  }

  /** Ends the call. Attempts still in flight end with what they are known to have used by now. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const running of this.#running) this.#end(running);
    for (const held of this.#ofCall) held.used = usedOfCall(held, this.#wasCalled);
    for (const open of this.#opens) this.#settle(open, (held, units) => this.#shareOf(held, units, open));
  }

  #begin(
    accounts: readonly Account[],
    reservationEstimate: ReservationEstimate,
    degrades: boolean,
  ): Admitted | Refused | Promise<Admitted | Refused> {
    const needs: Need[] = [];
    const needed: Held[] = [];
    const all: Held[] = [];
    const bounds: number[] = [];
    for (const account of accounts) {
      const { rule } = account;
      const held = (countsAttempts(rule) ? undefined : this.#heldOfCall(account)) ?? {
        account,
        reserved: 0,
        used: 0,
        running: 0,
        last: null,
        outcome: null,
        isUnpriced: false,
      };
      const known = boundOf(held, reservationEstimate);
      held.isUnpriced = known === null;
      if (known === null && rule.mode === "enforce") return { kind: "unpriced", account };
      const bound = boundedFor(rule, known ?? 0);
      all.push(held);
      bounds.push(bound);
      const units = isCounted(rule) ? bound : Math.max(0, held.used + held.running + bound - held.reserved);
      if (units === 0 && held.last !== null) continue;
      needed.push(held);
      needs.push({ account, units, force: rule.mode === "audit" });
    }
    const take = (reserved: Reservation | Shortage): Admitted | Refused =>
      isShortage(reserved)
        ? this.#short(reserved)
        : this.#take(reserved, { needed, all, bounds, requests: reservationEstimate.requests, degrades });
    if (needs.length === 0)
      return this.#admitted({
        held: all,
        bounds,
        requests: reservationEstimate.requests,
        open: null,
        seen: null,
        isOver: false,
      });
    const answer = this.#store.reserve(needs);
    if (!(answer instanceof Promise)) return take(answer);
    const turn = answer.then(take).finally(() => (this.#turn = null));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  #heldOfCall({ rule, value }: Account): Held | undefined {
    for (const held of this.#ofCall) if (held.account.value === value && held.account.rule === rule) return held;
    return undefined;
  }

  #short(shortage: Shortage): Refused {
    const {
      need: { account },
      status: standing,
    } = shortage;
    const { rule, value } = account;
    this.#touches.push({
      id: rule.id,
      value,
      unit: rule.unit,
      before: standing.used,
      reserved: 0,
      settled: 0,
      after: standing.used,
      wouldRefuse: false,
      refused: codeOf(shortage),
    });
    this.known.set(account, standing);
    if (rule.thresholds.length > 0 && !shortage.exceedsLimit) this.#onCharged(account, standing);
    return { kind: "short", shortage };
  }

  #take(
    reservation: Reservation,
    {
      needed,
      all,
      bounds,
      requests,
      degrades,
    }: {
      readonly needed: readonly Held[];
      readonly all: readonly Held[];
      readonly bounds: readonly number[];
      readonly requests: number;
      readonly degrades: boolean;
    },
  ): Admitted | Refused {
    const { needs, before, after, overdrawn } = reservation;
    const elsewhere = this.#isClosed || !degrades ? null : degradedBy(reservation);
    if (this.#isClosed || elsewhere !== null) {
      reservation.release();
      // The call ended while it waited, so its client is gone and the details of this refusal do not matter.
      return (
        elsewhere ?? {
          kind: "short",
          shortage: { need: needs[0]!, status: before[0]!, fitsAtMs: null, exceedsLimit: false, unavailable: true },
        }
      );
    }
    const open: Open = { reservation, held: [...needed] };
    reservation.whenLost?.(this.#onLost);
    this.#opens.push(open);
    for (let index = 0; index < needed.length; index++) {
      const held = needed[index]!;
      const { units } = needs[index]!;
      const { account } = held;
      if (held.last === null && !countsAttempts(account.rule)) this.#ofCall.push(held);
      held.reserved += units;
      held.last = open;
      this.#touch(held, before[index]!, after[index]!, held.isUnpriced || overdrawn.includes(index), reservation);
      this.known.set(account, after[index]!);
    }
    return this.#admitted({ held: all, bounds, requests, open, seen: null, isOver: false });
  }

  #touch(held: Held, before: AccountStatus, after: AccountStatus, wouldRefuse: boolean, order: Order): void {
    if (held.outcome !== null && held.outcome.wouldRefuse === wouldRefuse) {
      held.outcome.reserved = held.reserved;
      held.outcome.after = after.used;
      countAt(held.outcome, held.account.rule, order);
      return;
    }
    const { rule, value } = held.account;
    const outcome: LimitOutcome = {
      id: rule.id,
      value,
      unit: rule.unit,
      before: held.outcome?.before ?? before.used,
      reserved: held.reserved,
      settled: null,
      after: after.used,
      wouldRefuse,
      ...countedAt(rule, order),
    };
    if (held.outcome === null) this.#touches.push(outcome);
    else this.#touches[this.#touches.indexOf(held.outcome)] = outcome;
    held.outcome = outcome;
  }

  #admitted(running: Running): Admitted {
    this.#running.push(running);
    for (let index = 0; index < running.held.length; index++) running.held[index]!.running += running.bounds[index]!;
    return {
      called: (seen) => {
        running.seen = seen;
        this.#wasCalled = true;
      },
      begun: () => void (this.#wasCalled = true),
      end: () => this.#end(running),
    };
  }

  #end(running: Running): void {
    if (running.isOver) return;
    running.isOver = true;
    const used =
      running.seen !== null && running.held.some(({ account: { rule } }) => !isCounted(rule))
        ? running.seen()
        : NOTHING;
    let ofAttempt = false;
    for (let index = 0; index < running.held.length; index++) {
      const held = running.held[index]!;
      held.running -= running.bounds[index]!;
      const { rule } = held.account;
      if (rule.unit === "tokens") held.used += used.tokens;
      else if (rule.unit === "nano_usd") held.used += used.nanoUsd;
      else if (rule.unit === "requests" && countsAttempts(rule))
        held.used += running.seen === null ? 0 : running.requests;
      ofAttempt ||= countsAttempts(rule);
    }
    if (ofAttempt && running.open !== null)
      this.#settle(running.open, (held) => (countsAttempts(held.account.rule) ? held.used : null));
  }

  /** A need for which `share` returns `null` stays open. */
  #settle({ reservation, held }: Open, share: (held: Held, units: number) => number | null): void {
    const ended: Held[] = [];
    const used = held.map((each, index) => {
      const units = each === null ? null : share(each, reservation.needs[index]!.units);
      if (each === null || units === null) return null;
      held[index] = null;
      ended.push(each);
      const { outcome } = each;
      if (outcome !== null) {
        outcome.settled = (outcome.settled ?? 0) + units;
        outcome.after += (outcome.unit === "concurrency" ? 0 : units) - reservation.needs[index]!.units;
      }
      return units;
    });
    if (ended.length === 0) return;
    this.#settled(ended, reservation, used, reservation.settle(used));
    for (const { account } of ended) if (account.rule.thresholds.length > 0) this.#onCharged(account, null);
  }

  /** Updates the known standings: from what the limit store returned, else from what this call gave back. */
  #settled(
    ended: readonly Held[],
    { needs }: Reservation,
    used: readonly (number | null)[],
    settled: Settled | null,
  ): void {
    let next = 0;
    for (let index = 0; index < used.length; index++) {
      const units = used[index]!;
      if (units === null) continue;
      const { account, outcome } = ended[next++]!;
      const standing =
        settled === null ? changedBy(this.known.get(account), units - needs[index]!.units) : settled.after[index]!;
      if (standing === null) continue;
      this.known.set(account, standing);
      if (settled === null || outcome === null) continue;
      outcome.after = standing.used;
      countAt(outcome, account.rule, settled);
    }
  }

  /** The part of the call's usage that this reservation covers; everything that remains, if it is the last one. */
  #shareOf(held: Held, units: number, open: Open): number {
    const share = held.last === open ? held.used : Math.min(units, held.used);
    held.used -= share;
    return share;
  }
}

type Order = Pick<Reservation, "stamp" | "run">;

/** Windows of one second and concurrency are not kept over a restart. */
function countedAt({ kind, window }: LimitRule, { stamp, run }: Order): { readonly counted?: CountedHere } {
  if (stamp === undefined || window === null || window === "second") return {};
  return { counted: run === undefined ? { kind, window, stamp } : { kind, window, stamp, run } };
}

/** When the call began, another process may still have kept the counts that this process has taken over since. */
function countAt(outcome: LimitOutcome, rule: LimitRule, order: Order): void {
  const { counted } = outcome;
  if (counted === undefined) Object.assign(outcome, countedAt(rule, order));
  else if (order.stamp !== undefined && order.run === counted.run) counted.stamp = order.stamp;
  else Object.assign(outcome, { counted: undefined }, countedAt(rule, order));
}

function changedBy(standing: AccountStatus | undefined, units: number): AccountStatus | null {
  if (standing === undefined) return null;
  const used = Math.max(0, standing.used + units);
  return { ...standing, used, remaining: Math.max(0, standing.limit - used) };
}

/** The rule counts requests or calls one by one, whatever usage an answer reports. */
function isCounted({ unit }: LimitRule): boolean {
  return unit === "requests" || unit === "concurrency";
}

function boundOf({ account: { rule }, last }: Held, reservationEstimate: ReservationEstimate): number | null {
  // The call is one request and takes one slot, however many attempts it makes.
  return isCounted(rule) && !countsAttempts(rule) && last !== null ? 0 : boundAt(rule, reservationEstimate);
}

/**
 * In audit mode a bound above the whole limit counts as the limit plus one, so that sums stay exact whatever a client
 * asks for.
 */
function boundedFor({ mode, limit }: LimitRule, bound: number): number {
  return mode === "audit" ? Math.min(bound, limit + 1) : bound;
}

/**
 * What the first attempt of a call may use. `null` when the price is not known and the budget denies unpriced calls.
 */
export function boundAt(rule: LimitRule, reservationEstimate: ReservationEstimate): number | null {
  if (!isCounted(rule)) return reservationEstimate.bound(rule) ?? (rule.unpriced === "allow" ? 0 : null);
  return rule.unit === "requests" && countsAttempts(rule) ? reservationEstimate.requests : 1;
}

function usedOfCall(held: Held, wasCalled: boolean): number {
  const { unit } = held.account.rule;
  if (unit === "requests") return wasCalled ? 1 : 0;
  return unit === "concurrency" ? 0 : held.used;
}

/** The first budget whose usage before this attempt had already reached a threshold that sends its calls elsewhere. */
function degradedBy({ needs, before }: Reservation): Refused | null {
  for (let index = 0; index < needs.length; index++) {
    const { account, force } = needs[index]!;
    const { used, limit } = before[index]!;
    const reached = force
      ? undefined
      : account.rule.thresholds.findLast(
          ({ percent, degradeTo }) => degradeTo !== null && used * 100 >= percent * limit,
        );
    if (reached?.degradeTo != null)
      return { kind: "degraded", account, standing: before[index]!, degradeTo: reached.degradeTo };
  }
  return null;
}
