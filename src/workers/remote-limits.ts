// The limit store of a worker: the supervisor counts, and the worker asks it over the channel. The requests of one turn of
// the event loop leave in one write; settlements need no reply. Without a supervisor nothing under a limit is admitted.
import type { Account, LimitRule } from "../core/limit.ts";
import type { AccountStatus, LimitStore, Need, Reservation, Settled, Shortage } from "../admission/limit-store.ts";
import {
  type NeedWire,
  type ReservedWire,
  type ReserveWire,
  type SettledWire,
  statusesIn,
  statusOf,
} from "./limit-messages.ts";
import type { SupervisorChannel } from "./messages.ts";

export interface RemoteLimitStore extends LimitStore {
  /**
   * Sends what was settled now. To be called before the last bytes of the answers leave: the next call of the same client
   * may come to another worker.
   */
  sendSettled(): void;
}

/**
 * `writeLedger` hands the closing entries of the calls that have ended to the operating system. It is called before their
 * settlements leave: when this process is killed, the supervisor settles what is open by the journal, and the row of a
 * call whose settlement has arrived would else be made from its opening entry.
 */
export function openRemoteLimits(channel: SupervisorChannel, writeLedger: () => void): RemoteLimitStore {
  return new RemoteLimits(channel, writeLedger);
}

class RemoteLimits implements RemoteLimitStore {
  readonly #channel: SupervisorChannel;
  readonly #writeLedger: () => void;
  readonly #rules = new RuleNumbers();
  readonly #whenLost = new Map<number, () => void>();
  /** Settlements of this turn of the event loop. */
  #settled: SettledWire[] = [];
  /** Resolves when they have been sent; `null` when there are none. */
  #whenSent: PromiseWithResolvers<void> | null = null;
  #lastId = 0;
  #open = 0;

  constructor(channel: SupervisorChannel, writeLedger: () => void) {
    this.#channel = channel;
    this.#writeLedger = writeLedger;
    channel.handle("limit_lost", ({ id }) => this.#whenLost.get(id)?.());
  }

  async reserve(needs: readonly Need[], call = ""): Promise<Reservation | Shortage> {
    const id = ++this.#lastId;
    const rules: (readonly [number, LimitRule])[] = [];
    const wire: ReserveWire = {
      id,
      call,
      needs: needs.map(({ account, units, force }): NeedWire => [
        this.#rules.numberOf(account.rule, rules),
        account.value,
        units,
        force ? 1 : 0,
      ]),
      ...(rules.length > 0 && { rules }),
    };
    try {
      // What was given back before has to be there.
      if (this.#whenSent !== null) await this.#whenSent.promise;
      return this.#answered(id, needs, await this.#channel.request("reserve", wire));
    } catch {
      return unavailable(needs[0]!);
    }
  }

  async status({ rule, value }: Account): Promise<AccountStatus> {
    if (this.#whenSent !== null) await this.#whenSent.promise;
    return statusOf(await this.#channel.request("limit_status", { rule, value }));
  }

  async first({ rule, value }: Account, mark: string): Promise<boolean> {
    // Without a supervisor the event is not emitted here; the next one sees the same account.
    return await this.#channel.request("limit_first", { rule, value, mark }).catch(() => false);
  }

  open(): number {
    return this.#open;
  }

  close(): Promise<void> {
    this.sendSettled();
    return Promise.resolve();
  }

  /** Settlements leave at the end of the turn at the latest. A call adds its closing entry right after it has settled. */
  #settleLater(settled: SettledWire): void {
    this.#settled.push(settled);
    if (this.#whenSent !== null) return;
    this.#whenSent = Promise.withResolvers();
    setImmediate(() => this.sendSettled());
  }

  sendSettled(): void {
    if (this.#whenSent === null) return;
    this.#writeLedger();
    this.#channel.notify("settle", this.#settled);
    this.#channel.flush();
    this.#settled = [];
    this.#whenSent.resolve();
    this.#whenSent = null;
  }

  #answered(id: number, needs: readonly Need[], answer: ReservedWire): Reservation | Shortage {
    if ("short" in answer) {
      const { short, status, fitsAtMs, exceedsLimit, unavailable: isUnavailable } = answer;
      return { need: needs[short]!, status: statusOf(status), fitsAtMs, exceedsLimit, unavailable: isUnavailable };
    }
    const { accounts, overdrawn = [], stamp, run } = answer;
    const isOpen = needs.map(() => true);
    this.#open += 1;
    const end = (used: readonly (number | null)[]): Settled | null => {
      const units = used.map((each, index) => (isOpen[index] === true ? each : null));
      if (units.every((each) => each === null)) return null;
      for (const [index, each] of units.entries()) if (each !== null) isOpen[index] = false;
      this.#settleLater([id, units]);
      if (!isOpen.includes(true)) {
        this.#open -= 1;
        this.#whenLost.delete(id);
      }
      return null;
    };
    return {
      needs,
      before: statusesIn(accounts, needs, "before"),
      after: statusesIn(accounts, needs, "after"),
      overdrawn,
      stamp,
      run,
      settle: end,
      release: () => void end(needs.map(() => 0)),
      whenLost: (listener) => void this.#whenLost.set(id, listener),
    };
  }
}

/** How the rules that were sent are named. A new snapshot has new objects for the same rules. */
class RuleNumbers {
  readonly #ofObject = new WeakMap<LimitRule, number>();
  readonly #ofText = new Map<string, number>();

  /** Adds a rule that has no number yet to `added`. */
  numberOf(rule: LimitRule, added: (readonly [number, LimitRule])[]): number {
    const known = this.#ofObject.get(rule);
    if (known !== undefined) return known;
    const text = JSON.stringify(rule);
    let number = this.#ofText.get(text);
    if (number === undefined) {
      number = this.#ofText.size;
      this.#ofText.set(text, number);
      added.push([number, rule]);
    }
    this.#ofObject.set(rule, number);
    return number;
  }
}

/** The supervisor has gone, or has refused the message. */
function unavailable(need: Need): Shortage {
  const { limit } = need.account.rule;
  return {
    need,
    status: { limit, used: limit, remaining: 0, resetsAtMs: null },
    fitsAtMs: null,
    exceedsLimit: false,
    unavailable: true,
  };
}
