// Faults that the sandbox plays in front of the real target, so that fallbacks can be watched without an outage.
import { type Json, type JsonObject, targetOf, withMember } from "./play-request.ts";

export interface Fault {
  readonly name: string;
  readonly label: string;
  /** The sandbox's model that behaves so. */
  readonly model: string;
}

export const FAULTS: readonly Fault[] = [
  { name: "429", label: "Too many requests (429)", model: "sandbox:fail-429" },
  { name: "500", label: "Server error (500)", model: "sandbox:fail-500" },
  { name: "529", label: "Overloaded (529)", model: "sandbox:fail-529" },
  { name: "garbage", label: "An answer that is no answer", model: "sandbox:garbage" },
  { name: "cut", label: "The connection breaks in the middle", model: "sandbox:cut" },
  { name: "slow", label: "First token after 5 seconds", model: "sandbox:slow-5000" },
];

export function faultOf(name: string | null): Fault | null {
  return FAULTS.find((fault) => fault.name === name) ?? null;
}

/**
 * The request goes to the sandbox first; its own target is the first fallback, as `{route}` where it is a route. Retries at the sandbox
 * would fail in the same way, so there are none.
 */
export function withFault(body: JsonObject, fault: Fault | null, isRoute: (name: string) => boolean): JsonObject {
  const target = targetOf(body);
  if (fault === null || target === null) return body;
  const further = Array.isArray(body["fallbacks"]) ? (body["fallbacks"] as readonly Json[]) : [];
  const first: Json = isRoute(target) ? { route: target } : target;
  return {
    ...withMember(body, "route", undefined),
    model: fault.model,
    num_retries: 0,
    fallbacks: [first, ...further],
  };
}
