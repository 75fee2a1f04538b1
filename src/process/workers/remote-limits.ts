// The limit store of a worker: the supervisor counts, and the worker asks it over the channel. The requests of one turn of
// the event loop leave in one write; settlements need no reply. Without a supervisor nothing under a limit is admitted.

// Decides (money and limits): When can other workers use what a call has not used? By: `sendSettled`. Also:
// `worker-reservations.ts`. Rule: Before the last bytes of the answer leave, at the end of the turn of the event loop at
// the latest.
import type { Account, LimitRule } from "../../core/configured/limit.ts";
import type { AccountReading, LimitStore, Need, Reservation, Settled, Shortage } from "../../admission/limit-store.ts";
import {
  type NeedWire,
  type ReservedWire,
  type ReserveWire,
  type SettledWire,
  statusesIn,
  readingOf,
  statusOf,
} from "./limit-messages.ts";
import type { SupervisorChannel } from "./messages.ts";

/**
 * `writeLedger` hands to the operating system what the journal has to state of these calls: their closing entries, and of
 * those that have not ended, opening entries with what was settled. It is called before their settlements leave: when
 * processes are killed, what is open is settled by the journal, and each settlement has to count once. `holder` is the
 * worker's name.
 */
export class RemoteLimits implements LimitStore {
  readonly #channel: SupervisorChannel;
  readonly #holder: string;
  readonly #writeLedger: (calls: readonly string[]) => void;
  #rules = new RuleNumbers();
  readonly #whenLost = new Map<number, () => void>();
  /** Settlements of this turn of the event loop. */
  #settled: SettledWire[] = [];
  /** Their calls. */
  #settledCalls: string[] = [];
  #settlements = 0;
  /** Resolves when they have been sent; `null` when there are none. */
  #whenSent: PromiseWithResolvers<void> | null = null;
  #lastId = 0;
  #open = 0;

  constructor(channel: SupervisorChannel, holder: string, writeLedger: (calls: readonly string[]) => void) {
    this.#channel = channel;
    this.#holder = holder;
    this.#writeLedger = writeLedger;
    channel.handle("limit_lost", ({ id }) => this.#whenLost.get(id)?.());
  }

  async reserve(needs: readonly Need[], call = ""): Promise<Reservation | Shortage> {
    // What was given back before has to be there.
    if (this.#whenSent !== null) await this.#whenSent.promise;
    // From here to the request nothing waits: a rule has to be sent before another call names its number.
    if (this.#rules.size >= MAX_RULES) this.#rules = new RuleNumbers();
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
    // It may be lost again before the reply to this request is read, because both can come in one frame.
    let isLost = false;
    this.#whenLost.set(id, () => (isLost = true));
    try {
      const answer = this.#answered(wire, needs, await this.#channel.request("reserve", wire), () => isLost);
      if ("need" in answer) this.#whenLost.delete(id);
      return answer;
    } catch {
      this.#whenLost.delete(id);
      return unavailable(needs[0]!);
    }
  }

  async status({ rule, value }: Account): Promise<AccountReading> {
    if (this.#whenSent !== null) await this.#whenSent.promise;
    return readingOf(await this.#channel.request("limit_status", { rule, value }));
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
  #settleLater(settled: SettledWire, call: string): void {
    this.#settled.push(settled);
    this.#settledCalls.push(call);
    if (this.#whenSent !== null) return;
    this.#whenSent = Promise.withResolvers();
    setImmediate(() => this.sendSettled());
  }

  /**
   * Sends what was settled now. To be called before the last bytes of the answers leave: the next call of the same client
   * may come to another worker.
   */
  sendSettled(): void {
    if (this.#whenSent === null) return;
    this.#writeLedger(this.#settledCalls);
    this.#settledCalls = [];
    this.#channel.notify("settle", this.#settled);
    this.#channel.flush();
    this.#settled = [];
    this.#whenSent.resolve();
    this.#whenSent = null;
  }

  #answered(
    { id, call }: ReserveWire,
    needs: readonly Need[],
    answer: ReservedWire,
    isLost: () => boolean,
  ): Reservation | Shortage {
    if ("short" in answer) {
      const { short, status, ...why } = answer;
      return { need: needs[short]!, status: statusOf(status), ...why };
    }
    const { accounts, overdrawn = [], stamp, run } = answer;
    const isOpen = needs.map(() => true);
    this.#open += 1;
    const end = (used: readonly (number | null)[]): Settled | null => {
      const units = used.map((each, index) => (isOpen[index] === true ? each : null));
      if (units.every((each) => each === null)) return null;
      for (const [index, each] of units.entries()) if (each !== null) isOpen[index] = false;
      this.#settleLater([id, units], call);
      if (!isOpen.includes(true)) {
        this.#open -= 1;
        this.#whenLost.delete(id);
      }
      return { settlement: ++this.#settlements, after: units.map(() => null) };
    };
    return {
      id,
      needs,
      before: statusesIn(accounts, needs, "before"),
      after: statusesIn(accounts, needs, "after"),
      overdrawn,
      stamp,
      run,
      holder: this.#holder,
      settle: end,
      release: () => void end(needs.map(() => 0)),
      whenLost: (listener) => {
        if (isLost()) return listener();
        if (isOpen.includes(true)) this.#whenLost.set(id, listener);
      },
    };
  }
}

/**
 * Rules that were sent; a limit that is changed is another one. Beyond this number they are numbered and sent anew: the
 * supervisor, which uses a number when it receives it, then has other rules by the same numbers.
 */
const MAX_RULES = 10_000;

/** How the rules that were sent are named. A new snapshot has new objects for the same rules. */
class RuleNumbers {
  readonly #ofObject = new WeakMap<LimitRule, number>();
  readonly #ofText = new Map<string, number>();

  get size(): number {
    return this.#ofText.size;
  }

  /** Adds a rule that has no number yet to `added`. */
  numberOf(rule: LimitRule, added: (readonly [number, LimitRule])[]): number {
    return this.#ofObject.getOrInsertComputed(rule, () =>
      this.#ofText.getOrInsertComputed(JSON.stringify(rule), () => {
        added.push([this.#ofText.size, rule]);
        return this.#ofText.size;
      }),
    );
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
