// A replica's side of the talk about one tenant: one message under way at a time. What calls ask for meanwhile waits for the next message, which takes all of
// it. No clock, no socket and no timer of its own: it is told the time, hands messages to `send`, and is handed the answers.
import type { Need } from "../limit-store.ts";
import { dropLeases, forgetTold, giveBack, isLow, isOver, noteTruth, plus, type Moment, type ReplicaAccount, type ReplicaFault, wantedUnits } from "./account.ts";
import type { LeaseJournal } from "./lease-journal.ts";
import { type AccountAnswer, type AccountLine, type Answer, CLOSED, DIRECT, JOIN_FIRST, type MessageWithKeys, type Operation, type OperationAnswer, STALE, type Statement, type Timings } from "./protocol.ts";

/** A call that waits for the store. */
export interface Waiting {
  readonly needs: readonly Need[];
  readonly accounts: readonly ReplicaAccount[];
  /** Charged: the bucket of each account, and what was used of it before. */
  readonly onReserved: (buckets: readonly number[], usedBefore: readonly number[]) => void;
  readonly onShort: (need: number, used: number, fitsAtMs: number) => void;
  /** The store did not answer in time, or is closed for too long. */
  readonly onAway: () => void;
  /** Not tried before. */
  dueMs: number;
  giveUpMs: number;
  /** Of the first refusal while leases were out, or of the first try in a closed epoch. */
  waitsUntilMs: number | null;
  isOver: boolean;
}

export interface Question {
  readonly account: ReplicaAccount;
  /** Null: only how it stands. */
  readonly mark: string | null;
  readonly onAnswer: (isFirst: boolean) => void;
  readonly giveUpMs: number;
  isOver: boolean;
}

interface UnderWay {
  readonly message: MessageWithKeys;
  readonly accounts: readonly ReplicaAccount[];
  readonly waiting: readonly Waiting[];
  readonly questions: readonly Question[];
  readonly owed: readonly (readonly [ReplicaAccount, number])[];
  /** Before it was sent for the first time: the life of what it brings begins here. */
  readonly sentMs: number;
  readonly sentWallMs: number;
  failsMs: number;
  /** Null: it is on its way. */
  sendAgainMs: number | null;
}

export interface Channel {
  readonly tag: string;
  readonly keys: readonly string[];
  epoch: string;
  joined: boolean;
  everOpen: boolean;
  sequence: number;
  underWay: UnderWay | null;
  readonly accounts: Set<ReplicaAccount>;
  readonly leased: Set<ReplicaAccount>;
  readonly dirty: Set<ReplicaAccount>;
  readonly waiting: Waiting[];
  readonly questions: Question[];
  toState: ReplicaAccount[];
  lastSentMs: number;
  /** A message went unanswered, and none was answered since. */
  isAway: boolean;
  replicas: number;
  rank: number;
  storeNowMs: number;
  heardMs: number;
  heardWallMs: number;
}

export interface ChannelOptions {
  readonly replica: string;
  readonly timings: Timings;
  readonly journal: LeaseJournal;
  readonly fault: ReplicaFault | null;
  ownKey(accountKey: string): string;
  /** Answers come by `hear`, and a message that cannot be sent by `fail`. */
  send(channel: Channel, message: MessageWithKeys): void;
}

const MAX_ACCOUNTS = 200;
const MAX_WAITING = 256;
/** Heartbeats that may be missed before a slot is lost. */
export const MISSED_HEARTBEATS = 2;
/** Between two tries of a call that waits for recalled leases, and for an epoch to open. */
const RECALL_STEP_MS = 15;
const CLOSED_STEP_MS = 50;

export function newChannel(tag: string, keys: readonly string[], sequence: number): Channel {
  return {
    tag,
    keys,
    epoch: "",
    joined: false,
    everOpen: false,
    sequence,
    underWay: null,
    accounts: new Set(),
    leased: new Set(),
    dirty: new Set(),
    waiting: [],
    questions: [],
    toState: [],
    lastSentMs: Number.NEGATIVE_INFINITY,
    isAway: false,
    replicas: 1,
    rank: 0,
    storeNowMs: 0,
    heardMs: 0,
    heardWallMs: 0,
  };
}

/** The store's clock, as far as it is known. */
export function storeNowMs(channel: Channel, { monoMs, wallMs }: Moment): number {
  if (channel.storeNowMs === 0) return wallMs;
  return channel.storeNowMs + Math.max(0, monoMs - channel.heardMs, wallMs - channel.heardWallMs);
}

/** Writes and sends the next message when none is under way and there is anything to say, or `always`. */
export function flush(channel: Channel, now: Moment, options: ChannelOptions, always = false): void {
  if (channel.underWay !== null) return;
  endLeases(channel, now, options);
  const due = channel.waiting.some(({ dueMs }) => dueMs <= now.monoMs);
  if (!always && !due && channel.dirty.size === 0 && channel.questions.length === 0 && channel.toState.length === 0) return;
  const underWay = write(channel, now, options);
  channel.underWay = underWay;
  channel.lastSentMs = now.monoMs;
  options.send(channel, underWay.message);
}

function endLeases(channel: Channel, now: Moment, { fault }: ChannelOptions): void {
  for (const account of channel.leased) {
    dropLeases(account, (lease) => isOver(lease, now, fault));
    if (account.leases.length > 0) continue;
    channel.leased.delete(account);
    channel.dirty.add(account);
  }
}

interface Draft {
  readonly accounts: ReplicaAccount[];
  readonly statements: Statement[];
  readonly operations: Operation[];
}

/** What calls wanted before the last lease came is there by now. */
function takeWant(account: ReplicaAccount): number {
  const isWanted = account.wants && isLow(account);
  account.wants = false;
  return isWanted ? wantedUnits(account) : 0;
}

function lineOf(draft: Draft, account: ReplicaAccount): number {
  if (account.line === 0) account.line = draft.accounts.push(account);
  return account.line;
}

function write(channel: Channel, now: Moment, options: ChannelOptions): UnderWay {
  const draft: Draft = { accounts: [], statements: [], operations: [] };
  const join = writeStatements(channel, draft);
  const owed: [ReplicaAccount, number][] = [];
  for (const account of [...channel.dirty, ...channel.leased]) {
    if (draft.accounts.length >= MAX_ACCOUNTS) break;
    channel.dirty.delete(account);
    const line = lineOf(draft, account);
    if (account.owed === 0) continue;
    draft.operations.push(["c", line, account.owed]);
    owed.push([account, account.owed]);
    account.owed = 0;
  }
  const waiting: Waiting[] = [];
  const questions: Question[] = [];
  if (join !== 1) {
    takeWaiting(channel, now, waiting);
    for (const { accounts } of waiting) for (const account of accounts) lineOf(draft, account);
    questions.push(...channel.questions.splice(0, MAX_ACCOUNTS));
    for (const { account } of questions) lineOf(draft, account);
  }
  for (const { needs, accounts } of waiting) for (const [index, account] of accounts.entries()) swap(account, needs[index]!.units);
  for (const account of draft.accounts) {
    for (const [bucket, units] of account.adds) if (units !== 0) draft.operations.push(["g", account.line, bucket, units]);
    account.adds.clear();
  }
  for (const { needs, accounts } of waiting) draft.operations.push(["r", ...accounts.flatMap((account, index) => [account.line, needs[index]!.units, needs[index]!.force ? 1 : 0])]);
  for (const { account, mark } of questions) if (mark !== null) draft.operations.push(["f", account.line, mark]);
  const lines = draft.accounts.map((account): AccountLine => {
    const held = account.kind === "slots" ? account.inUse + account.idle : account.idle;
    return [account.limit, account.kind, account.windowMs, Math.ceil(account.typical), takeWant(account), held, account.idle];
  });
  for (const account of draft.accounts) account.line = 0;
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
  return { message, accounts: draft.accounts, waiting, questions, owed, sentMs: now.monoMs, sentWallMs: now.wallMs, failsMs: now.monoMs + options.timings.answerMs, sendAgainMs: null };
}

/** What was charged, after a new epoch: whole for each account, so that whatever the store has or lacks, it has this afterwards. */
function writeStatements(channel: Channel, draft: Draft): 0 | 1 | 2 {
  if (channel.joined) return 0;
  for (const account of channel.toState.splice(0, MAX_ACCOUNTS)) {
    const line = lineOf(draft, account);
    channel.dirty.delete(account);
    account.adds.clear();
    if (account.kind !== "slots") draft.statements.push([line, 1, ...[...account.mine].flat()]);
  }
  return channel.toState.length > 0 ? 1 : 2;
}

function takeWaiting(channel: Channel, now: Moment, into: Waiting[]): void {
  const later = channel.waiting.splice(0);
  for (const one of later) {
    if (one.isOver) continue;
    if (one.dueMs <= now.monoMs && into.length < MAX_WAITING) into.push(one);
    else channel.waiting.push(one);
  }
}

/** Units of the replica's own leases go back in the message that reserves them anew: nobody else can have them between. */
function swap(account: ReplicaAccount, units: number): void {
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
    plus(account.mine, lease.bucket, -given);
    plus(account.adds, lease.bucket, -given);
  }
}

/** The answer to the message under way; any other is late and says nothing. */
export function hear(channel: Channel, sequence: number, answer: Answer, now: Moment, options: ChannelOptions): void {
  const { underWay } = channel;
  if (underWay === null || underWay.message.sequence !== sequence) return;
  channel.underWay = null;
  channel.isAway = false;
  channel.storeNowMs = answer[2];
  channel.heardMs = now.monoMs;
  channel.heardWallMs = now.wallMs;
  if (answer[0] === JOIN_FIRST || answer[0] === STALE) {
    joinAgain(channel, underWay, answer, options);
    flush(channel, now, options);
    return;
  }
  const [, epoch, , replicas, rank, accounts, operations] = answer;
  channel.epoch = epoch;
  channel.replicas = replicas;
  channel.rank = rank;
  if (underWay.message.join === 2) channel.joined = true;
  for (const [index, account] of underWay.accounts.entries()) hearAccount(channel, account, accounts[index]!, underWay, now, options);
  // the machine slept: what was reserved then may have been given to others since
  const tookMs = Math.max(now.monoMs - underWay.sentMs, now.wallMs - underWay.sentWallMs);
  if (tookMs > MISSED_HEARTBEATS * options.timings.heartbeatMs) for (const one of underWay.waiting) giveUpOne(one);
  hearOperations(channel, underWay, accounts, operations, now, options);
  for (const account of underWay.accounts) forgetTold(account, answer[2], options.timings.leaseLifeMs, options.journal);
  flush(channel, now, options);
}

/** Nothing of an earlier epoch is trusted: leases are void, and everything is stated anew. */
function joinAgain(channel: Channel, { waiting, questions, owed }: UnderWay, answer: Answer, { fault }: ChannelOptions): void {
  channel.epoch = answer[1];
  channel.joined = false;
  if (answer[0] === STALE) channel.sequence += 1_000_000;
  for (const [account, units] of owed) {
    account.owed += units;
    channel.dirty.add(account);
  }
  channel.waiting.unshift(...waiting);
  channel.questions.unshift(...questions);
  channel.toState = [...channel.accounts];
  if (fault === "old epoch trusted") {
    for (const account of channel.accounts) for (const { bucket, left } of account.leases) plus(account.mine, bucket, -left);
    return;
  }
  for (const account of channel.leased) dropLeases(account, () => true);
  channel.leased.clear();
}

function hearAccount(channel: Channel, account: ReplicaAccount, [used, mode, granted, bucket, validMs, resetsAtMs]: AccountAnswer, underWay: UnderWay, now: Moment, options: ChannelOptions): void {
  account.mode = mode;
  account.used = used;
  for (const units of account.adds.values()) account.used += units;
  account.used += account.owed;
  account.resetsAtMs = resetsAtMs < 0 ? null : resetsAtMs;
  account.heardMs = now.monoMs;
  account.outage = null;
  account.renewedMs = underWay.sentMs;
  account.renewedWallMs = underWay.sentWallMs;
  if (mode !== CLOSED) channel.everOpen = true;
  if (granted > 0) lend(channel, account, granted, bucket, validMs, underWay, now, options);
  if (account.kind === "slots" && now.monoMs - account.usedLastMs < options.timings.leaseLifeMs) keepSlots(account, underWay, options.timings.leaseLifeMs);
  if (mode === DIRECT && account.leases.length > 0) {
    // recalled
    dropLeases(account, () => true);
    channel.leased.delete(account);
    channel.dirty.add(account);
  }
}

/** Slots that are in use now and then stay lent; they have no date. */
function keepSlots({ leases }: ReplicaAccount, { sentMs, sentWallMs }: UnderWay, leaseLifeMs: number): void {
  for (const lease of leases) {
    lease.endsMonoMs = Math.max(lease.endsMonoMs, sentMs + leaseLifeMs);
    lease.endsWallMs = Math.max(lease.endsWallMs, sentWallMs + leaseLifeMs);
  }
}

function lend(channel: Channel, account: ReplicaAccount, units: number, bucket: number, validMs: number, underWay: UnderWay, now: Moment, { journal, fault, timings }: ChannelOptions): void {
  const from = fault === "life from receipt" ? now : { monoMs: underWay.sentMs, wallMs: underWay.sentWallMs };
  account.idle += units;
  channel.leased.add(account);
  if (account.kind === "slots") {
    const before = account.leases[0]?.left ?? 0;
    account.leases = [{ bucket: 0, left: before + units, units: before + units, endsMonoMs: from.monoMs + timings.leaseLifeMs, endsWallMs: from.wallMs + timings.leaseLifeMs, place: -1 }];
    return;
  }
  plus(account.mine, bucket, units);
  const lease = { bucket, left: units, units, endsMonoMs: from.monoMs + validMs, endsWallMs: from.wallMs + validMs, place: -1 };
  account.leases.push(lease);
  // in the journal before the first unit of it is spent
  lease.place = noteTruth(account, bucket, journal);
}

function hearOperations(channel: Channel, { message, waiting, questions, accounts }: UnderWay, lines: readonly AccountAnswer[], answers: readonly OperationAnswer[], now: Moment, options: ChannelOptions): void {
  let nextWaiting = 0;
  const marked = questions.filter(({ mark }) => mark !== null);
  let nextMarked = 0;
  const bucketOf = (account: ReplicaAccount): number => lines[accounts.indexOf(account)]![3];
  for (const [index, [kind]] of message.operations.entries()) {
    if (kind === "r") hearReserved(channel, waiting[nextWaiting++]!, answers[index]!, bucketOf, now, options);
    else if (kind === "f") {
      const question = marked[nextMarked++]!;
      if (!question.isOver) question.onAnswer(answers[index]![0] === 1);
      question.isOver = true;
    }
  }
  for (const question of questions) {
    if (question.mark !== null || question.isOver) continue;
    question.isOver = true;
    question.onAnswer(false);
  }
}

function hearReserved(channel: Channel, one: Waiting, answer: OperationAnswer, bucketOf: (account: ReplicaAccount) => number, now: Moment, options: ChannelOptions): void {
  if (answer[0] === 1) {
    const buckets = one.accounts.map(bucketOf);
    for (const [index, account] of one.accounts.entries()) {
      const { units } = one.needs[index]!;
      if (account.kind === "slots") {
        if (!one.isOver) account.inUse += units;
        channel.dirty.add(account);
        continue;
      }
      plus(account.mine, buckets[index]!, units);
      if (account.places.has(buckets[index]!)) noteTruth(account, buckets[index]!, options.journal);
      if (!one.isOver) continue;
      // it was told meanwhile that the store is away
      giveBack(account, buckets[index]!, units, options.journal);
      channel.dirty.add(account);
    }
    if (!one.isOver) one.onReserved(buckets, answer.slice(1));
    one.isOver = true;
    return;
  }
  if (one.isOver) return;
  const isClosed = answer[0] === 2;
  one.waitsUntilMs ??= now.monoMs + (isClosed && !channel.everOpen ? options.timings.joinMs + options.timings.heartbeatMs : options.timings.recallWaitMs);
  if ((isClosed || answer[4] === 1) && now.monoMs < one.waitsUntilMs) {
    one.dueMs = now.monoMs + (isClosed ? CLOSED_STEP_MS : RECALL_STEP_MS);
    one.giveUpMs = one.dueMs + options.timings.answerMs;
    channel.waiting.push(one);
    return;
  }
  one.isOver = true;
  if (isClosed) one.onAway();
  else one.onShort(answer[1]!, answer[2]!, answer[3]!);
}

/** The message under way did not reach the store, as far as is known. */
export function fail(channel: Channel, sequence: number, now: Moment, { timings }: ChannelOptions): void {
  const { underWay } = channel;
  if (underWay === null || underWay.message.sequence !== sequence || underWay.sendAgainMs !== null) return;
  underWay.sendAgainMs = now.monoMs + timings.retryMs;
  channel.isAway = true;
  giveUp(channel, Number.POSITIVE_INFINITY);
}

function giveUpOne(one: Waiting): void {
  if (one.isOver) return;
  one.isOver = true;
  one.onAway();
}

function giveUp(channel: Channel, nowMs: number): void {
  const { underWay } = channel;
  if (channel.waiting.length === 0 && channel.questions.length === 0 && (underWay === null || (underWay.waiting.length === 0 && underWay.questions.length === 0))) return;
  for (const one of [...(underWay?.waiting ?? []), ...channel.waiting]) {
    if (one.giveUpMs <= nowMs) giveUpOne(one);
  }
  for (const question of [...(underWay?.questions ?? []), ...channel.questions]) {
    if (question.isOver || question.giveUpMs > nowMs) continue;
    question.isOver = true;
    question.onAnswer(true);
  }
  channel.questions.splice(0, channel.questions.length, ...channel.questions.filter((question) => !question.isOver));
  channel.waiting.splice(0, channel.waiting.length, ...channel.waiting.filter((one) => !one.isOver));
}

/** To be called every few milliseconds: sends again, reports, renews, and ends waits. */
export function tick(channel: Channel, now: Moment, options: ChannelOptions): void {
  const { timings } = options;
  const { underWay } = channel;
  giveUp(channel, now.monoMs);
  if (underWay !== null) {
    if (underWay.sendAgainMs === null && now.monoMs >= underWay.failsMs) fail(channel, underWay.message.sequence, now, options);
    else if (underWay.sendAgainMs !== null && now.monoMs >= underWay.sendAgainMs) {
      underWay.sendAgainMs = null;
      underWay.failsMs = now.monoMs + timings.answerMs;
      options.send(channel, underWay.message);
    }
    return;
  }
  const silentMs = now.monoMs - channel.lastSentMs;
  if (silentMs >= timings.heartbeatMs && isBusy(channel)) {
    for (const account of channel.accounts) if (account.kind === "slots" && account.inUse > 0) channel.dirty.add(account);
    flush(channel, now, options, true);
  } else if (silentMs >= timings.reportMs && channel.leased.size > 0) flush(channel, now, options, true);
  else if (channel.waiting.length > 0 || (channel.dirty.size > 0 && silentMs >= timings.reportMs)) flush(channel, now, options);
}

/** Has anything charged that a new epoch would have to hear of. */
function isBusy(channel: Channel): boolean {
  for (const account of channel.accounts) if (account.mine.size > 0 || account.inUse > 0 || account.openNeeds > 0) return true;
  return false;
}
