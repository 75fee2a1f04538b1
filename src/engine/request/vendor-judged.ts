// Values that the gateway does not act on: a target that speaks the operation is sent them as they are, and its vendor
// judges them; every other target refuses the request as the gateway's own rules say (promise 12.3).
import type { Untranslated } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import type { CommonParameter } from "../../core/params.ts";

/** Parameters that only the model acts on. */
export const VENDOR_JUDGED: ReadonlySet<string> = new Set([
  "temperature",
  "top_p",
  "stop",
  "parallel_tool_calls",
  "reasoning_effort",
  "verbosity",
  "prompt_cache_key",
  "logprobs",
  "top_logprobs",
] satisfies readonly CommonParameter[]);

/** What the error refuses, with the path in the client's body. */
export function invalidPart({ param, message }: GatewayError): Untranslated {
  return { path: param!, message, dropped: "never", isInvalid: true };
}

/** Returns `otherwise` for what `translate` refuses as invalid, which is noted. */
export function orNoted<T>(note: (part: Untranslated) => void, otherwise: T, translate: () => T): T {
  try {
    return translate();
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.code !== "invalid_request" || thrown.param === null) throw thrown;
    note(invalidPart(thrown));
    return otherwise;
  }
}
