// Reads an answer of a provider to its end. What has come of it counts against the memory that bodies may hold until then (promise 5.8).
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import type { UpstreamBody } from "../../wire/upstream.ts";
import type { Call } from "./call.ts";
import { LEAST_HELD_BYTES } from "./held-bytes.ts";

/** `readsOn` may end the reading early. Throws what the body throws, or `gateway_overloaded`. */
export function collectedBytes(
  body: Pick<UpstreamBody, "bytes">,
  { lifetime, snapshot, clock }: Call,
  readsOn: (bytes: number) => boolean = () => true,
): MaybePromise<Uint8Array> {
  let held = 0;
  const reading = body.bytes(snapshot.limits.maxAnswerBytes, (bytes) => {
    if (bytes >= LEAST_HELD_BYTES) {
      lifetime.hold(bytes - held, snapshot.limits);
      held = bytes;
    }
    return readsOn(bytes);
  });
  if (isPending(reading)) return clock.waiting(reading).finally(() => lifetime.release(held));
  lifetime.release(held);
  return reading;
}
