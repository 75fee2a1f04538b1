// The fault of an answer that is no HTTP as RFC 9112 has it.
import { UpstreamFault } from "./upstream.ts";

/** `what` goes on from "the provider's answer". */
export function malformed(what: string): UpstreamFault {
  return new UpstreamFault("malformed", `the provider's answer ${what}`);
}
