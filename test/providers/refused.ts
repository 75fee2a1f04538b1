// The refusal of a request that cannot be encoded for its target.
import { GatewayError } from "../../src/core/errors.ts";

export function refusedBy(encode: () => unknown): GatewayError {
  try {
    encode();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
  throw new Error("the request was encoded");
}
