// Something that one target's form of request cannot express, found while the request is encoded for it. Other targets
// may still accept the request (promise 3.4).
import { GatewayError } from "../core/errors.ts";

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
