// How many deliveries may be in flight, for a webhook, for a tenant and in all, and whose turn is next: a tenant with
// many slow receivers does not delay other tenants.
import { changeCount } from "../../core/concurrency/open-count.ts";
import type { Webhook } from "../../core/record/event.ts";

const MOST_OF_ONE = 4;
/** When the last delivery failed, the next one is likely to use up its time limit too. */
const MOST_OF_FAILING = 1;
const MOST_OF_TENANT = 32;
const MOST_OF_ALL = 512;

interface Receiver {
  inFlight: number;
  isFailing: boolean;
  turn: number;
}

export function webhookSlots() {
  const receivers = new Map<string, Receiver>();
  /** The key `null` stands for the file's webhooks that get the events of all tenants. */
  const tenants = new Map<string | null, number>();
  let all = 0;
  let turns = 0;

  return {
    /** How many more deliveries to the webhook may begin now. */
    free({ id, tenantId }: Webhook): number {
      const { inFlight = 0, isFailing = false } = receivers.get(id) ?? {};
      return Math.max(
        0,
        Math.min(
          (isFailing ? MOST_OF_FAILING : MOST_OF_ONE) - inFlight,
          MOST_OF_TENANT - (tenants.get(tenantId) ?? 0),
          MOST_OF_ALL - all,
        ),
      );
    },
    /** Returns the function that ends the delivery. `isDelivered` says whether the receiver accepted it. */
    take({ id, tenantId }: Webhook): (isDelivered: boolean) => void {
      const receiver = receivers.getOrInsertComputed(id, () => ({ inFlight: 0, isFailing: false, turn: 0 }));
      receiver.inFlight += 1;
      receiver.turn = ++turns;
      changeCount(tenants, tenantId, 1);
      all += 1;
      return (isDelivered) => {
        receiver.inFlight -= 1;
        receiver.isFailing = !isDelivered;
        all -= 1;
        changeCount(tenants, tenantId, -1);
      };
    },
    /** Sorts by the last delivery that began: first those of webhooks that have had none, or whose last one began longest ago. */
    inTurn: <T extends { readonly webhookId: string }>(due: readonly T[]) =>
      due.toSorted(
        (one, other) => (receivers.get(one.webhookId)?.turn ?? 0) - (receivers.get(other.webhookId)?.turn ?? 0),
      ),
    /** Removes webhooks that no longer exist. */
    forget(isKnown: (webhookId: string) => boolean): void {
      for (const [id, { inFlight }] of receivers) if (inFlight === 0 && !isKnown(id)) receivers.delete(id);
    },
  };
}
