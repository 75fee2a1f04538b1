// A replica's side of the talk about one tenant: one message under way at a time. What calls ask for meanwhile waits for the next message, which takes all of
// it. No clock, no socket and no timer of its own: it is told the time, hands messages to `send`, and is handed the answers.
import { dropLeases, isOver, type Moment } from "./account.ts";
import type { Channel, ChannelOptions } from "./channel-state.ts";
import { giveUpOne, takeAnswer } from "./heard-answer.ts";
import { writeMessage } from "./next-message.ts";
import type { Answer } from "./protocol.ts";

/** Writes and sends the next message when none is under way and there is anything to say, or `always`. */
export function flush(channel: Channel, now: Moment, options: ChannelOptions, always = false): void {
  if (channel.underWay !== null) return;
  endLeases(channel, now);
  const due = channel.waiting.some(({ dueMs }) => dueMs <= now.monoMs);
  if (!always && !due && channel.dirty.size === 0 && channel.questions.length === 0 && channel.toState.length === 0) return;
  const underWay = writeMessage(channel, now, options);
  channel.underWay = underWay;
  channel.lastSentMs = now.monoMs;
  options.send(channel, underWay.message);
}

function endLeases(channel: Channel, now: Moment): void {
  for (const account of channel.leased) {
    dropLeases(account, (lease) => isOver(lease, now));
    if (account.leases.length > 0) continue;
    channel.leased.delete(account);
    channel.dirty.add(account);
  }
}

/** The answer to the message under way; any other is late and says nothing. */
export function hear(channel: Channel, sequence: number, answer: Answer, now: Moment, options: ChannelOptions): void {
  const { underWay } = channel;
  if (underWay === null || underWay.message.sequence !== sequence) return;
  channel.underWay = null;
  takeAnswer(channel, underWay, answer, now, options);
  flush(channel, now, options);
}

/** The message under way did not reach the store, as far as is known. */
export function fail(channel: Channel, sequence: number, now: Moment, { timings }: ChannelOptions): void {
  const { underWay } = channel;
  if (underWay === null || underWay.message.sequence !== sequence || underWay.sendAgainMs !== null) return;
  underWay.sendAgainMs = now.monoMs + timings.retryMs;
  channel.isAway = true;
  giveUp(channel, Number.POSITIVE_INFINITY);
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
