// Writes the next message of a channel: overruns and returned units, what calls and listings ask for, and after a new
// epoch what the replica has charged.
import { isLow, type Moment, noteSent, addTo, type ReplicaAccount, wantedUnits } from "./replica-account.ts";
import type { Channel, ChannelOptions, Overrun, Question, InFlightMessage, WaitingCall } from "./channel-state.ts";
import type { AccountLine, MessageWithKeys, Operation, Statement } from "./protocol.ts";

const MAX_ACCOUNTS = 200;
const MAX_WAITING = 256;

interface Draft {
  readonly accounts: ReplicaAccount[];
  readonly statements: Statement[];
  readonly operations: Operation[];
}

/** What calls wanted before the last lease arrived may be there by now. */
function leaseWanted(account: ReplicaAccount): number {
  const isWanted = account.wantsLease && isLow(account);
  account.wantsLease = false;
  return isWanted ? wantedUnits(account) : 0;
}

function lineOf(draft: Draft, account: ReplicaAccount): number {
  if (account.line === 0) account.line = draft.accounts.push(account);
  return account.line;
}

export function writeMessage(channel: Channel, now: Moment, options: ChannelOptions): InFlightMessage {
  const draft: Draft = { accounts: [], statements: [], operations: [] };
  const join = writeStatements(channel, draft);
  const overruns: Overrun[] = [];
  for (const account of [...channel.dirty, ...channel.leased]) {
    if (draft.accounts.length >= MAX_ACCOUNTS) break;
    channel.dirty.delete(account);
    const line = lineOf(draft, account);
    if (account.overrun === 0) continue;
    draft.operations.push(["c", line, account.overrun]);
    overruns.push({ account, units: account.overrun, byBucket: new Map(account.overrunByBucket) });
    account.overrun = 0;
  }
  const waiting: WaitingCall[] = [];
  const questions: Question[] = [];
  if (join !== 1) {
    addWaiting(channel, now, draft, waiting);
    questions.push(...channel.questions.splice(0, MAX_ACCOUNTS));
    for (const { account } of questions) lineOf(draft, account);
  }
  for (const { needs, accounts } of waiting)
    for (const [index, account] of accounts.entries()) returnLeased(account, needs[index]!.units);
  for (const account of draft.accounts) {
    for (const [bucket, units] of account.unreported)
      if (units !== 0) draft.operations.push(["g", account.line, bucket, units]);
    account.unreported.clear();
  }
  for (const { needs, accounts } of waiting)
    draft.operations.push([
      "r",
      ...accounts.flatMap((account, index) => [account.line, needs[index]!.units, needs[index]!.force ? 1 : 0]),
    ]);
  for (const { account, mark } of questions) if (mark !== null) draft.operations.push(["f", account.line, mark]);
  const lines = draft.accounts.map((account): AccountLine => {
    const held = account.inUse + account.idle;
    return [
      account.limit,
      account.kind,
      account.windowMs,
      Math.ceil(account.typical),
      leaseWanted(account),
      held,
      account.idle,
    ];
  });
  const asking = new Set([...waiting.flatMap(({ accounts }) => accounts), ...overruns.map(({ account }) => account)]);
  for (const [index, account] of draft.accounts.entries()) {
    account.line = 0;
    noteSent(account, lines[index]![4] > 0 || asking.has(account), options.journal);
  }
  channel.sequence += 1;
  const message: MessageWithKeys = {
    keys: [...channel.keys, ...draft.accounts.flatMap(({ key }) => [key, options.ownKey(key)])],
    replica: options.replica,
    sequence: channel.sequence,
    epoch: channel.epoch,
    join,
    leaseLifeMs: options.timings.leaseLifeMs,
    joinMs: options.timings.joinMs,
    accounts: lines,
    statements: draft.statements,
    operations: draft.operations,
  };
  return {
    message,
    accounts: draft.accounts,
    waiting,
    questions,
    overruns,
    sentMs: now.monoMs,
    sentWallMs: now.wallMs,
    failsRanMs: now.ranMs + options.timings.silentMs,
    sendAgainMs: null,
  };
}

/**
 * States what was charged, after a new epoch. Each account is stated in full, so that the store is right afterwards
 * whatever it held before.
 */
function writeStatements(channel: Channel, draft: Draft): 0 | 1 | 2 {
  if (channel.joined) return 0;
  for (const account of channel.toRestate.splice(0, MAX_ACCOUNTS)) {
    const line = lineOf(draft, account);
    // An overrun is not part of the statement, and is still to be reported.
    if (account.overrun === 0) channel.dirty.delete(account);
    account.unreported.clear();
    if (account.kind !== "slots") draft.statements.push([line, 1, ...[...account.charged].flat()]);
  }
  return channel.toRestate.length > 0 ? 1 : 2;
}

/** A message with too many accounts would take the store longer than a call may wait. */
function addWaiting(channel: Channel, now: Moment, draft: Draft, into: WaitingCall[]): void {
  const later = channel.waiting.splice(0);
  for (const one of later) {
    if (one.isDecided) continue;
    if (
      one.dueMs > now.monoMs ||
      into.length >= MAX_WAITING ||
      (into.length > 0 && draft.accounts.length >= MAX_ACCOUNTS)
    ) {
      channel.waiting.push(one);
      continue;
    }
    into.push(one);
    for (const account of one.accounts) lineOf(draft, account);
  }
}

/**
 * Gives units of the replica's own leases back in the message that reserves them again, so that no other replica can
 * take them in between.
 */
function returnLeased(account: ReplicaAccount, units: number): void {
  if (account.kind === "slots") {
    const given = Math.min(units, account.idle);
    account.idle -= given;
    account.used -= given;
    if (account.leases.length > 0) account.leases[0]!.left -= given;
    return;
  }
  let left = units;
  for (const lease of account.leases) {
    const given = Math.min(left, lease.left);
    if (given === 0) continue;
    lease.left -= given;
    left -= given;
    account.idle -= given;
    account.used -= given;
    addTo(account.charged, lease.bucket, -given);
    addTo(account.unreported, lease.bucket, -given);
  }
}
