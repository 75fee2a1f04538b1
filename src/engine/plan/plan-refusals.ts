// Whether the stages of a call hold a candidate that may serve it. What refuses a call here is not an upstream failure, and
// no other target is attempted after it.
import { type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { PlannedCall, RouteCandidate, RouteStage } from "./candidate.ts";
import type { PassedOver } from "./stage.ts";

/**
 * Throws the last refusal when none of the targets that are for this call is permitted, whatever their health is. That
 * none is for the call is told by `noneEligible`.
 */
export function requireSomePermitted(stages: readonly RouteStage[]): void {
  const candidates = stages.flatMap((stage) => stage.candidates).filter(({ passedOver }) => passedOver === null);
  if (!candidates.some(isPermitted)) candidates.at(-1)?.permit();
}

function isPermitted(candidate: RouteCandidate): boolean {
  try {
    candidate.permit();
    return true;
  } catch (thrown) {
    if (thrown instanceof GatewayError) return false;
    throw thrown;
  }
}

/**
 * A call that names its target fails at once when that target does not accept the request. A target that the caller may
 * not call, or not in this way, is skipped like any other (promise 3.4).
 */
export function requireTaken(candidate: RouteCandidate, { recorder }: PlannedCall): void {
  if (!isPermitted(candidate)) return;
  try {
    recorder.fitted(candidate.ready().fitted);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || !OF_THE_CALLER.has(thrown.code)) throw thrown;
  }
}

const OF_THE_CALLER: ReadonlySet<ErrorCode> = new Set(["permission_required", "policy_violation"]);

/** Returns the error of a call for which no target is meant; `null` when one is. */
export function noneEligible({
  stages,
  passedOver,
}: {
  readonly stages: readonly RouteStage[];
  readonly passedOver: readonly PassedOver[];
}): GatewayError | null {
  if (passedOver.length === 0) return null;
  const isLeftOut = ({ candidates }: RouteStage): boolean =>
    candidates.every((candidate) => candidate.passedOver !== null || candidate.redirect !== null);
  return stages.every(isLeftOut)
    ? new GatewayError("target_not_eligible", "No target of the route is for this call.", { param: "route" })
    : null;
}
