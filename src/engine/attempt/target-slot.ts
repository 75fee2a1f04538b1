// The slot of an attempt at a target whose attempts in flight are bounded, and the wait for it.
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { type GatewayError, retryLater } from "../../core/errors.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import { untilOver } from "../../core/concurrency/timeout.ts";
import type { Entered, QueueOutcome } from "../../routing/concurrency.ts";
import type { Call } from "../call/call.ts";
import type { RouteCandidate } from "../plan/candidate.ts";

/**
 * Returns a function that releases the slot; `null` when the target has no bound. Returns an error when its queue is
 * full or the wait was too long. `signal` ends the wait; rejects with its reason.
 */
export function enterSlot(
  candidate: RouteCandidate,
  call: Call,
  signal: CancelSignal,
): MaybePromise<(() => void) | null | GatewayError> {
  const { key, target, route } = candidate;
  const { concurrency } = call.context.routing;
  const { maxConcurrency: max } = target;
  if (max === null) return null;
  const wait: SlotWait = { turn: () => {} };
  const entered = concurrency.enter(key, call.record.tenantId ?? "", max, route.queue.max, (came) => wait.turn(came));
  if (!isPending(entered)) return slotOf(entered, wait, candidate, call, signal);
  return call.clock.waiting(asked(entered, wait, candidate, call, signal));
}

/** The slots are in another process, which has to answer first. */
async function asked(
  entered: Promise<Entered>,
  wait: SlotWait,
  candidate: RouteCandidate,
  call: Call,
  signal: CancelSignal,
): Promise<(() => void) | GatewayError> {
  let came: Entered;
  try {
    came = await untilOver(entered, signal);
  } catch (thrown) {
    const { concurrency } = call.context.routing;
    const leaveLate = (late: Entered): void => {
      if (late === "entered") concurrency.leave(candidate.key);
      else if (late !== "full") late.cancel();
    };
    void entered.then(leaveLate);
    throw thrown;
  }
  return slotOf(came, wait, candidate, call, signal);
}

const FULL = "its queue is full";

/** What an attempt in the queue does when its turn comes. */
interface SlotWait {
  turn: (came: QueueOutcome) => void;
}

function slotOf(
  entered: Entered,
  wait: SlotWait,
  { key, target, route }: RouteCandidate,
  call: Call,
  signal: CancelSignal,
): MaybePromise<(() => void) | GatewayError> {
  const { concurrency } = call.context.routing;
  const leave = (): void => concurrency.leave(key);
  if (entered === "entered") return leave;
  const refusal = (why: string): GatewayError =>
    retryLater(
      "gateway_overloaded",
      `Too many calls in flight at the target ${target.name} (max_concurrency ${target.maxConcurrency}), and ${why}.`,
      1,
    );
  if (entered === "full") return refusal(FULL);
  return call.clock.waiting(
    new Promise<(() => void) | GatewayError>((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", ended);
      };
      const ended = (): void => {
        over();
        entered.cancel();
        // the reason is passed on as the caller gave it
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        reject(signal.reason);
      };
      const refused = (why: string): void => {
        over();
        entered.cancel();
        resolve(refusal(why));
      };
      const { timeoutMs } = route.queue;
      const timer = setTimeout(() => refused(`no place became free within ${timeoutMs} ms`), timeoutMs);
      wait.turn = (came) => {
        if (came === "shed") return refused(FULL);
        over();
        resolve(leave);
      };
      if (signal.aborted) ended();
      else signal.addEventListener("abort", ended);
    }),
  );
}
