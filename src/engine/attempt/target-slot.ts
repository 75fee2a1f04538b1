// The slot of an attempt at a target whose attempts in flight are bounded, and the wait for it.
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { type GatewayError, retryLater } from "../../core/errors.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import { LATE, untilOver, within } from "../../core/concurrency/timeout.ts";
import { type SlotTurn, takeTurn } from "../../core/concurrency/slot-turn.ts";
import type { Call } from "../call/call.ts";
import type { RouteCandidate } from "../plan/candidate.ts";

/**
 * Returns a function that releases the slot of a target with `max_concurrency`. Returns an error when its queue is full or
 * the wait was too long. `signal` ends the wait; rejects with its reason.
 */
export function enterSlot(
  candidate: RouteCandidate,
  call: Call,
  signal: CancelSignal,
): MaybePromise<(() => void) | GatewayError> {
  const { slotKey: key, target, route } = candidate;
  const tenant = call.record.tenantId ?? "";
  const slot = { key, tenant, max: target.maxConcurrency!, queueMax: route.queue.max };
  const turn = takeTurn(call.context.routing.concurrency, slot);
  const { came } = turn;
  if (isPending(came)) return call.clock.waiting(waitedFor(turn, came, candidate, signal));
  return came ? () => turn.leave() : refusal(candidate, FULL);
}

async function waitedFor(
  turn: SlotTurn,
  coming: Promise<boolean>,
  candidate: RouteCandidate,
  signal: CancelSignal,
): Promise<(() => void) | GatewayError> {
  const { timeoutMs } = candidate.route.queue;
  let came: boolean | typeof LATE = false;
  try {
    came = await untilOver(within(coming, timeoutMs), signal);
  } finally {
    if (came !== true) turn.leave();
  }
  if (came === true) return () => turn.leave();
  return refusal(candidate, came === LATE ? `no place became free within ${timeoutMs} ms` : FULL);
}

const FULL = "its queue is full";

function refusal({ target }: RouteCandidate, why: string): GatewayError {
  return retryLater(
    "gateway_overloaded",
    `Too many calls in flight at the target ${target.name} (max_concurrency ${target.maxConcurrency}), and ${why}.`,
    1,
  );
}
