// Finds the account, and the channel of its tenant, for a rule and a value, and decides when a replica may forget an
// account.
import { type Account, FULL_RULES, MAX_VALUES } from "../limit-store.ts";
import { keyOf } from "../kept-state.ts";
import type { LimitRule } from "../../core/configured/limit.ts";
import { forgetReported, type Moment, newAccount, type ReplicaAccount } from "./replica-account.ts";
import { type Channel, newChannel } from "./channel-state.ts";
import type { LeaseJournal } from "./lease-journal.ts";
import type { Timings } from "./protocol.ts";
import type { WindowShape } from "./windows.ts";

/** Names of the keys: a tenant's epoch, replicas and channels; an account; a replica's part of an account. */
export interface Keys {
  group(tag: string): readonly string[];
  account(rule: LimitRule, value: string): string;
  own(accountKey: string, replica: string): string;
}

export interface AccountsOptions {
  readonly timings: Timings;
  readonly journal: LeaseJournal;
  readonly keys: Keys;
  readonly shapeOf: (rule: LimitRule) => WindowShape;
}

interface Found {
  readonly channel: Channel;
  readonly values: Map<string, ReplicaAccount>;
  /** Whether it was removed, because none of its accounts was left. */
  isForgotten: boolean;
}

/** An account that was unused for this long, and that holds and counts nothing, is forgotten. */
const IDLE_MS = 60_000;

export class AccountsOfRules {
  readonly #options: AccountsOptions;
  readonly #byRule = new WeakMap<LimitRule, Found>();
  readonly #byKey = new Map<string, Found>();
  readonly #channels = new Map<string, Channel>();

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  channels(): Iterable<Channel> {
    return this.#channels.values();
  }

  channelOf(tag: string): Channel {
    return this.#channels.getOrInsertComputed(tag, () => newChannel(tag, this.#options.keys.group(tag), 0));
  }

  channelOfRule(rule: LimitRule): Channel {
    return this.#foundOf(rule).channel;
  }

  /**
   * Returns the account with the limit of this rule: a call has the rules of its snapshot, and a limit may be changed and
   * changed back. `units` is what a call takes from the account, as far as is known.
   */
  accountOf({ rule, value: ownValue, isWithoutLimit }: Account, units: number, now: Moment): ReplicaAccount {
    const { values, channel } = this.#foundOf(rule);
    const isFull = values.size >= MAX_VALUES || channel.accounts.size >= FULL_RULES * MAX_VALUES;
    let account = values.get(ownValue) ?? (isFull ? values.get("") : undefined);
    if (account === undefined) {
      const value = isFull ? "" : ownValue;
      account = newAccount(
        this.#options.keys.account(rule, value),
        this.#options.shapeOf(rule),
        rule,
        units,
        now.monoMs,
      );
      values.set(value, account);
      channel.accounts.add(account);
    }
    if (isWithoutLimit !== true) account.limit = rule.limit;
    return account;
  }

  sweep(now: Moment): void {
    for (const [key, found] of this.#byKey) {
      const { channel, values } = found;
      for (const [value, account] of values) {
        if (now.monoMs - account.lastUsedMs < IDLE_MS || !this.#isForgettable(channel, account)) continue;
        values.delete(value);
        channel.accounts.delete(account);
      }
      // The rule may not be configured any more.
      if (values.size > 0) continue;
      found.isForgotten = true;
      this.#byKey.delete(key);
    }
  }

  /**
   * What would have to be stated in a new epoch is kept until its window has ended by the store's clock, as last
   * reported.
   */
  #isForgettable(channel: Channel, account: ReplicaAccount): boolean {
    if (
      account.openNeeds > 0 ||
      account.leases.length > 0 ||
      account.overrun > 0 ||
      account.unreported.size > 0 ||
      channel.dirty.has(account)
    )
      return false;
    if (account.isInFlight || !channel.joined) return false;
    forgetReported(account, channel.storeNowMs, this.#options.timings.leaseLifeMs, this.#options.journal);
    return account.charged.size === 0;
  }

  #foundOf(rule: LimitRule): Found {
    const known = this.#byRule.get(rule);
    if (known?.isForgotten === false) return known;
    const found = this.#byKey.getOrInsertComputed(keyOf(rule), (): Found => ({
      channel: this.channelOf(rule.tenantId),
      values: new Map(),
      isForgotten: false,
    }));
    this.#byRule.set(rule, found);
    return found;
  }
}
