// What the form of one target cannot say, found while the request is written for it: the other targets may still take it (promise 3.4).
import { GatewayError } from "../core/errors.ts";

export class UnfitForTarget extends Error {
  readonly reason: GatewayError;
  constructor(reason: GatewayError) {
    super(reason.message);
    this.reason = reason;
  }
}

/** What an encoder has thrown, as what it says of the target. */
export function unfit(thrown: unknown): unknown {
  return thrown instanceof GatewayError && thrown.entry.status === 400 ? new UnfitForTarget(thrown) : thrown;
}
