// The refusal of a policy as the caller receives it: its message and its name, never its rule or what it found.
import { BlockedText } from "../../guards/guarded-text.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Policy } from "../../core/configured/policy.ts";

export function violation(
  { name, message }: Pick<Policy, "name" | "message">,
  more: { readonly detail?: string } = {},
): GatewayError {
  return new GatewayError("policy_violation", message, { metadata: { policy: name }, ...more });
}

/** Turns BlockedText into the error for the caller, and returns any other thrown value unchanged. */
export function blockedError(thrown: unknown): unknown {
  if (!(thrown instanceof BlockedText)) return thrown;
  const { policy, failure } = thrown;
  return violation(policy, failure === null ? {} : { detail: `the policy ${policy.name}: ${failure}` });
}

/** Returns what `search` returns. Throws `policy_violation` where a guard blocks. */
export function underGuards<T>(search: () => T): T {
  try {
    return search();
  } catch (thrown) {
    throw blockedError(thrown);
  }
}
