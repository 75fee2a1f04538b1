// Which account of which tenant's channel a rule and a value go to, and when a replica may forget one.
import type { Account } from "../limit-store.ts";
import type { LimitRule } from "../../core/limit.ts";
import { forgetTold, type Moment, newAccount, type ReplicaAccount } from "./account.ts";
import { type Channel, newChannel } from "./channel-state.ts";
import type { LeaseJournal } from "./lease-journal.ts";
import type { Timings } from "./protocol.ts";
import type { WindowShape } from "./windows.ts";

/** Keys of a tenant's epoch, replicas and channels, of an account, and of a replica's part of an account. */
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
}

/** Accounts that nobody used for so long, and that hold and count nothing, are forgotten. */
const IDLE_MS = 60_000;
/** Of one rule. */
const MAX_VALUES = 50_000;

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
    let channel = this.#channels.get(tag);
    if (channel === undefined) this.#channels.set(tag, (channel = newChannel(tag, this.#options.keys.group(tag), 0)));
    return channel;
  }

  channelOfRule(rule: LimitRule): Channel {
    return this.#foundOf(rule).channel;
  }

  /** `units` are what a call of it takes, as far as is known. */
  accountOf({ rule, value: asked }: Account, units: number, now: Moment): ReplicaAccount {
    const { values, channel } = this.#foundOf(rule);
    let account = values.get(asked);
    if (account !== undefined) return account;
    // clients make values up: whoever comes beyond so many shares one account
    const value = values.size < MAX_VALUES ? asked : "";
    account = values.get(value);
    if (account === undefined) {
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
    return account;
  }

  sweep(now: Moment): void {
    for (const { channel, values } of this.#byKey.values())
      for (const [value, account] of values) {
        if (now.monoMs - account.usedLastMs < IDLE_MS || !this.#isForgettable(channel, account)) continue;
        values.delete(value);
        channel.accounts.delete(account);
      }
  }

  /** What a new epoch would have to hear of is kept until its window has ended by the store's clock, as it was last heard. */
  #isForgettable(channel: Channel, account: ReplicaAccount): boolean {
    if (
      account.openNeeds > 0 ||
      account.leases.length > 0 ||
      account.owed > 0 ||
      account.adds.size > 0 ||
      channel.dirty.has(account)
    )
      return false;
    if (account.isUnderWay || !channel.joined) return false;
    forgetTold(account, channel.storeNowMs, this.#options.timings.leaseLifeMs, this.#options.journal);
    return account.mine.size === 0;
  }

  #foundOf(rule: LimitRule): Found {
    let found = this.#byRule.get(rule);
    if (found !== undefined) return found;
    // a rule whose limit is changed goes on with its count; one whose unit or window is changed begins a new one
    const key = [rule.tenantId, rule.id, rule.kind, rule.unit, rule.window].join("\n");
    found = this.#byKey.get(key);
    if (found === undefined)
      this.#byKey.set(key, (found = { channel: this.channelOf(rule.tenantId), values: new Map() }));
    for (const account of found.values.values()) account.limit = rule.limit;
    this.#byRule.set(rule, found);
    return found;
  }
}
