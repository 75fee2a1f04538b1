// A replica's side of the exchange about one tenant, with one message in flight at a time. What calls need meanwhile
// waits for the next message, which takes all of it. It has no clock, socket or timer of its own: the time and the
// answers are passed in, and messages are passed to `send`.
import { dropLeases, hasEnded, type Moment } from "./replica-account.ts";
import type { Channel, ChannelOptions } from "./channel-state.ts";
import { decideOffline, applyAnswer } from "./apply-answer.ts";
import { writeMessage } from "./write-message.ts";
import type { Answer } from "./protocol.ts";

/** Writes and sends the next message if none is in flight and there is something to report, or if `always` is set. */
export function flush(channel: Channel, now: Moment, options: ChannelOptions, always = false): void {
  if (channel.inFlight !== null || channel.isApplying) return;
  endLeases(channel, now);
  const due = channel.waiting.some(({ dueMs }) => dueMs <= now.monoMs);
  if (!always && !due && channel.dirty.size === 0 && channel.questions.length === 0 && channel.toRestate.length === 0)
    return;
  const inFlight = writeMessage(channel, now, options);
  channel.inFlight = inFlight;
  channel.lastSentMs = now.monoMs;
  options.send(channel, inFlight.message);
}

function endLeases(channel: Channel, now: Moment): void {
  for (const account of channel.leased) {
    dropLeases(account, (lease) => hasEnded(lease, now));
    if (account.leases.length > 0) continue;
    channel.leased.delete(account);
    channel.dirty.add(account);
  }
}

/** Handles the answer to the message in flight. Any other answer is late and is ignored. */
export function receiveAnswer(
  channel: Channel,
  sequence: number,
  answer: Answer,
  now: Moment,
  options: ChannelOptions,
): void {
  const { inFlight } = channel;
  if (inFlight === null || inFlight.message.sequence !== sequence) return;
  channel.inFlight = null;
  channel.isApplying = true;
  applyAnswer(channel, inFlight, answer, now, options);
  channel.isApplying = false;
  flush(channel, now, options);
}

/** The message in flight did not reach the store, as far as is known. */
export function sendFailed(channel: Channel, sequence: number, now: Moment, { timings }: ChannelOptions): void {
  const { inFlight } = channel;
  if (inFlight === null || inFlight.message.sequence !== sequence || inFlight.sendAgainMs !== null) return;
  inFlight.sendAgainMs = now.monoMs + timings.retryMs;
  channel.isUnreachable = true;
  decideAllOffline(channel);
}

/**
 * The answer to the message in flight can no longer arrive, though the store may have given one: the message is sent
 * again.
 */
export function sendAgain(channel: Channel, sequence: number, options: ChannelOptions): void {
  const { inFlight } = channel;
  if (inFlight !== null && inFlight.message.sequence === sequence && inFlight.sendAgainMs === null)
    options.send(channel, inFlight.message);
}

/** No call waits while the store cannot be reached. */
function decideAllOffline(channel: Channel): void {
  const { inFlight } = channel;
  for (const one of [...(inFlight?.waiting ?? []), ...channel.waiting.splice(0)]) decideOffline(one);
  for (const question of [...(inFlight?.questions ?? []), ...channel.questions.splice(0)]) {
    if (question.isAnswered) continue;
    question.isAnswered = true;
    question.onAnswer(true);
  }
}

/** To be called every few milliseconds. Sends again, reports, renews, and ends waits. */
export function tick(channel: Channel, now: Moment, options: ChannelOptions): void {
  const { timings } = options;
  const { inFlight } = channel;
  if (inFlight !== null) {
    if (inFlight.sendAgainMs === null && now.ranMs >= inFlight.failsRanMs) {
      options.onSilent(channel);
      sendFailed(channel, inFlight.message.sequence, now, options);
    } else if (inFlight.sendAgainMs !== null && now.monoMs >= inFlight.sendAgainMs) {
      inFlight.sendAgainMs = null;
      inFlight.failsRanMs = now.ranMs + timings.silentMs;
      options.send(channel, inFlight.message);
    }
    return;
  }
  const silentMs = now.monoMs - channel.lastSentMs;
  if (channel.slots.size > 0 && renewSlots(channel, now, timings.heartbeatMs, options)) return;
  if (silentMs >= timings.heartbeatMs && hasCharges(channel)) flush(channel, now, options, true);
  else if (silentMs >= timings.reportMs && channel.leased.size > 0) flush(channel, now, options, true);
  else if (channel.waiting.length > 0 || (channel.dirty.size > 0 && silentMs >= timings.reportMs))
    flush(channel, now, options);
}

/**
 * Reports slots that are in use here and were not renewed for `afterMs`, whatever else the channel has to report.
 * Returns whether there were any.
 */
export function renewSlots(channel: Channel, now: Moment, afterMs: number, options: ChannelOptions): boolean {
  let isDue = false;
  for (const account of channel.slots) {
    if (account.inUse === 0) channel.slots.delete(account);
    else if (now.monoMs - account.renewedMs >= afterMs) {
      channel.dirty.add(account);
      isDue = true;
    }
  }
  if (isDue) flush(channel, now, options);
  return isDue;
}

/** Whether anything is charged that would have to be stated in a new epoch. */
function hasCharges(channel: Channel): boolean {
  for (const account of channel.accounts)
    if (account.charged.size > 0 || account.inUse > 0 || account.openNeeds > 0) return true;
  return false;
}
