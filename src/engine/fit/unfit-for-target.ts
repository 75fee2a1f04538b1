// The error for a request that cannot be expressed in one target's form, which is found while the request is encoded.
// Other targets may still accept the request (promise 3.4).
import { GatewayError } from "../../core/errors.ts";

export class UnfitForTarget extends Error {
  readonly reason: GatewayError;
  constructor(reason: GatewayError) {
    super(reason.message);
    this.reason = reason;
  }
}

/** Turns an encoder's error 400 into UnfitForTarget, and returns any other thrown value unchanged. */
export function unfit(thrown: unknown): unknown {
  return thrown instanceof GatewayError && thrown.entry.status === 400 ? new UnfitForTarget(thrown) : thrown;
}
