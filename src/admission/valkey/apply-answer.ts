// Applies an answer of the store: to accounts and their leases, to waiting calls, and to everything after a new epoch.
import {
  dropLeases,
  forgetReported,
  returnUnits,
  overrunCharged,
  noteAnswered,
  journalBucket,
  addTo,
  addUnrecorded,
  type Moment,
  type ReplicaAccount,
} from "./replica-account.ts";
import {
  type Channel,
  type ChannelOptions,
  applyClock,
  localMs,
  type InFlightMessage,
  type WaitingCall,
} from "./channel-state.ts";
import {
  type AccountAnswer,
  type Answer,
  CLOSED,
  DIRECT,
  JOIN_FIRST,
  type OperationAnswer,
  SLOTS_FREED_MS,
  STALE,
} from "./protocol.ts";

/** How many heartbeats may be missed before a slot is lost. */
export const MISSED_HEARTBEATS = 2;
/** The pause between two tries of a call that waits for recalled leases, and of one that waits for an epoch to open. */
const RECALL_STEP_MS = 15;
const CLOSED_STEP_MS = 50;

/** `inFlight` is the message that is answered. */
export function applyAnswer(
  channel: Channel,
  inFlight: InFlightMessage,
  answer: Answer,
  now: Moment,
  options: ChannelOptions,
): void {
  channel.isUnreachable = false;
  applyClock(channel, answer[2], now);
  if (answer[0] === JOIN_FIRST || answer[0] === STALE) {
    beginEpoch(channel, inFlight, answer);
    for (const account of inFlight.accounts) noteAnswered(account, options.journal);
    return;
  }
  const [, epoch, , replicas, rank, accounts, operations] = answer;
  channel.epoch = epoch;
  channel.replicas = replicas;
  channel.rank = rank;
  if (inFlight.message.join === 2) channel.joined = true;
  for (const [index, account] of inFlight.accounts.entries()) {
    if (account.kind === "total") account.heldAtStore = inFlight.message.accounts[index]![5] + accounts[index]![2];
    applyToAccount(channel, account, accounts[index]!, answer[2], inFlight, now, options);
  }
  applyToOperations(channel, inFlight, accounts, operations, now, options);
  for (const account of inFlight.accounts) noteAnswered(account, options.journal);
  for (const account of inFlight.accounts)
    forgetReported(account, answer[2], options.timings.leaseLifeMs, options.journal);
}

/** Nothing of an earlier epoch is trusted: leases are void, and everything is stated again. */
function beginEpoch(channel: Channel, { waiting, questions, overruns }: InFlightMessage, answer: Answer): void {
  channel.epoch = answer[1];
  channel.joined = false;
  if (answer[0] === STALE) channel.sequence += 1_000_000;
  for (const { account, units } of overruns) {
    account.overrun += units;
    channel.dirty.add(account);
  }
  channel.waiting.unshift(...waiting);
  channel.questions.unshift(...questions);
  channel.toRestate = [...channel.accounts];
  for (const account of channel.leased) dropLeases(account, () => true);
  channel.leased.clear();
}

function applyToAccount(
  channel: Channel,
  account: ReplicaAccount,
  [used, mode, granted, bucket, validMs, resetsAtMs]: AccountAnswer,
  storeMs: number,
  inFlight: InFlightMessage,
  now: Moment,
  options: ChannelOptions,
): void {
  account.mode = mode;
  account.used = used;
  for (const units of account.unreported.values()) account.used += units;
  account.used += account.overrun;
  account.resetsAtMs = resetsAtMs < 0 ? null : localMs(channel, resetsAtMs);
  account.answeredMs = now.monoMs;
  account.outage = null;
  if (account.kind === "slots" && account.renewedStoreMs > 0 && storeMs - account.renewedStoreMs > SLOTS_FREED_MS)
    options.onSlotsFreed(account);
  account.renewedMs = inFlight.sentMs;
  account.renewedStoreMs = storeMs;
  account.overdueSinceRanMs = null;
  if (mode !== CLOSED) channel.wasOpen = true;
  if (granted > 0) addLease(channel, account, granted, bucket, validMs, inFlight, options);
  if (account.kind === "slots" && now.monoMs - account.lastUsedMs < options.timings.leaseLifeMs)
    extendSlots(account, inFlight, options.timings.leaseLifeMs);
  if (mode === DIRECT && account.leases.length > 0) {
    // The leases were recalled.
    dropLeases(account, () => true);
    channel.leased.delete(account);
    channel.dirty.add(account);
  }
}

/** Slots that are used now and then stay leased, because they are not dated. */
function extendSlots({ leases }: ReplicaAccount, { sentMs, sentWallMs }: InFlightMessage, leaseLifeMs: number): void {
  for (const lease of leases) {
    lease.endsMonoMs = Math.max(lease.endsMonoMs, sentMs + leaseLifeMs);
    lease.endsWallMs = Math.max(lease.endsWallMs, sentWallMs + leaseLifeMs);
  }
}

function addLease(
  channel: Channel,
  account: ReplicaAccount,
  units: number,
  bucket: number,
  validMs: number,
  inFlight: InFlightMessage,
  { journal, timings }: ChannelOptions,
): void {
  const { sentMs, sentWallMs } = inFlight;
  account.idle += units;
  channel.leased.add(account);
  if (account.kind === "slots") {
    const before = account.leases[0]?.left ?? 0;
    account.leases = [
      {
        bucket: 0,
        left: before + units,
        units: before + units,
        endsMonoMs: sentMs + timings.leaseLifeMs,
        endsWallMs: sentWallMs + timings.leaseLifeMs,
        place: -1,
      },
    ];
    return;
  }
  addTo(account.charged, bucket, units);
  const lease = {
    bucket,
    left: units,
    units,
    endsMonoMs: sentMs + validMs,
    endsWallMs: sentWallMs + validMs,
    place: -1,
  };
  account.leases.push(lease);
  // The lease has to be in the journal before its first unit is spent.
  lease.place = journalBucket(account, bucket, journal);
}

function applyToOperations(
  channel: Channel,
  { message, waiting, questions, accounts, overruns, sentMs }: InFlightMessage,
  lines: readonly AccountAnswer[],
  answers: readonly OperationAnswer[],
  now: Moment,
  options: ChannelOptions,
): void {
  // The answer is so late that the store may have given the reserved slots to other replicas.
  const isTooLate = now.monoMs - sentMs > MISSED_HEARTBEATS * options.timings.heartbeatMs;
  let nextWaiting = 0;
  const marked = questions.filter(({ mark }) => mark !== null);
  let nextMarked = 0;
  const bucketOf = (account: ReplicaAccount): number => lines[accounts.indexOf(account)]![3];
  for (const { account, units, byBucket } of overruns)
    overrunCharged(account, bucketOf(account), units, byBucket, options.journal);
  for (const [index, [kind]] of message.operations.entries()) {
    if (kind === "r")
      applyToWaiting(channel, waiting[nextWaiting++]!, answers[index]!, isTooLate, bucketOf, now, options);
    else if (kind === "f") {
      const question = marked[nextMarked++]!;
      if (!question.isAnswered) question.onAnswer(answers[index]![0] === 1);
      question.isAnswered = true;
    }
  }
  for (const question of questions) {
    if (question.mark !== null || question.isAnswered) continue;
    question.isAnswered = true;
    question.onAnswer(false);
  }
}

function applyToWaiting(
  channel: Channel,
  one: WaitingCall,
  answer: OperationAnswer,
  isTooLate: boolean,
  bucketOf: (account: ReplicaAccount) => number,
  now: Moment,
  options: ChannelOptions,
): void {
  if (answer[0] === 1) {
    const buckets = one.accounts.map(bucketOf);
    const isAccepted = !one.isDecided && !isTooLate;
    for (const [index, account] of one.accounts.entries()) {
      const { units } = one.needs[index]!;
      if (account.kind === "slots") {
        if (isAccepted) account.inUse += units;
        channel.dirty.add(account);
        continue;
      }
      addTo(account.charged, buckets[index]!, units);
      if (account.kind === "total") account.heldAtStore += units;
      if (isAccepted) {
        addUnrecorded(account, buckets[index]!, units);
        journalBucket(account, buckets[index]!, options.journal);
        continue;
      }
      returnUnits(account, buckets[index]!, units, options.journal);
      channel.dirty.add(account);
    }
    if (isAccepted) one.onReserved(buckets, answer.slice(1));
    // The call is tried again, unless the store counted as unreachable meanwhile and the call was decided without it.
    else if (!one.isDecided) channel.waiting.push(Object.assign(one, { dueMs: now.monoMs }));
    one.isDecided ||= isAccepted;
    return;
  }
  if (one.isDecided) return;
  const isClosed = answer[0] === 2;
  one.waitsUntilMs ??=
    now.monoMs +
    (isClosed && !channel.wasOpen
      ? options.timings.joinMs + options.timings.heartbeatMs
      : options.timings.recallWaitMs);
  if ((isClosed || answer[4] === 1) && now.monoMs < one.waitsUntilMs) {
    one.dueMs = now.monoMs + (isClosed ? CLOSED_STEP_MS : RECALL_STEP_MS);
    channel.waiting.push(one);
    return;
  }
  one.isDecided = true;
  if (isClosed) one.onUnreachable();
  else one.onShort(answer[1]!, answer[2]!, answer[3]! < 0 ? null : localMs(channel, answer[3]!));
}

/** Lets `on_store_failure` decide about the call. */
export function decideOffline(one: WaitingCall): void {
  if (one.isDecided) return;
  one.isDecided = true;
  one.onUnreachable();
}
