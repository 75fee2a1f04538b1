// The fault of a response that violates HTTP/1.1 (RFC 9112).
import { UpstreamFault } from "./upstream.ts";

/** `what` completes a sentence that begins with "the provider's answer". */
export function malformed(what: string): UpstreamFault {
  return new UpstreamFault("malformed", `the provider's answer ${what}`);
}
