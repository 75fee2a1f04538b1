// A policy that refuses, as the caller reads it: its message and its name, never its rule nor what it found.
import { BlockedText } from "../auth/guarded-text.ts";
import { GatewayError } from "../core/errors.ts";
import type { Policy } from "../core/policy.ts";

export function violation(
  { name, message }: Pick<Policy, "name" | "message">,
  more: { readonly detail?: string } = {},
): GatewayError {
  return new GatewayError("policy_violation", message, { metadata: { policy: name }, ...more });
}

/** Anything thrown while text was looked at, as it is told. */
export function blockedError(thrown: unknown): unknown {
  if (!(thrown instanceof BlockedText)) return thrown;
  const { policy, failure } = thrown;
  return violation(policy, failure === null ? {} : { detail: `the policy ${policy.name}: ${failure}` });
}
