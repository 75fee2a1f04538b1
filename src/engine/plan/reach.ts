// Which targets a call can reach, known before any of its texts goes anywhere: guard services that are only for other
// targets are not asked about them (promise 16.4).
import type { ChatRequest } from "../../core/chat.ts";
import type { PolicyTarget } from "../../core/configured/policy.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Call } from "../call/call.ts";
import type { Reach } from "../policies/policy-scope.ts";
import type { Operation, ReadyCall } from "../operation.ts";
import type { PlannedCall } from "./candidate.ts";
import { everyStage, prepare, type Prepared } from "./stages.ts";

/** Returns what tells the reach of a call for its policies. */
export function callReach(
  operation: Pick<Operation, "hasNoTarget">,
  { call, request, principal, headers }: Pick<ReadyCall, "call" | "request" | "principal" | "headers">,
): Reach {
  if (operation.hasNoTarget === true) return () => [];
  return () => reachOf((there) => prepare(request, principal, headers, there, true), call);
}

/**
 * Returns the targets that the call may go to, with those of all its fallbacks and of budgets that redirect it; `null`
 * where `planned` refuses the request. Nothing is recorded of the call.
 */
export function reachOf(planned: (call: PlannedCall) => Prepared, call: Call): readonly PolicyTarget[] | null {
  try {
    return targetsOf(planned(unrecorded(call)));
  } catch (thrown) {
    if (thrown instanceof GatewayError) return null;
    throw thrown;
  }
}

function unrecorded(call: Call): PlannedCall {
  const { snapshot, context, meter, record, objects } = call;
  return {
    snapshot,
    policies: null,
    eligibilityOf: (sent: ChatRequest, ...rest) => call.eligibilityOf(sent, ...rest),
    context,
    meter,
    record,
    objects,
    deadline: { boundByRoute: () => {} },
    recorder: { targeted: () => {}, fitted: () => {} },
  };
}

function targetsOf(prepared: Prepared): readonly PolicyTarget[] {
  const targets = new Map<string, PolicyTarget>();
  for (const { candidates } of everyStage(prepared))
    for (const { policyTarget, passedOver } of candidates)
      if (passedOver === null) targets.set(JSON.stringify(policyTarget), policyTarget);
  return [...targets.values()];
}
