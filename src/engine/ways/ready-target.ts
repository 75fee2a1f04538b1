// Prepares a request for a target by its way, with what all ways have in common: the guards on the answer, and the
// credentials that reach what the request names at a vendor.
import { GatewayError } from "../../core/errors.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { withheldLogprobs } from "../guards/guard-answer.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { nativeRequest } from "./native-request.ts";
import { rawPrompts } from "./raw-prompts.ts";
import { task } from "./task.ts";
import { translatedConversation } from "./translated-conversation.ts";
import { type AskedTarget, type Way, wayAt, type WayResult } from "./way.ts";

/** What would be sent to a target. */
export interface ReadyTarget {
  /** The target without its credential. */
  readonly resolved: Resolved;
  readonly fitted: FittedRequest;
  /** Set where the request depends on which of several credentials the target is called with. */
  readonly fittedFor?: (identity: string | null) => FittedRequest;
  /** The guards that search the answer. */
  readonly outputGuards: readonly GuardPolicy[];
}

/** Throws GatewayError where the target cannot accept the request. */
export function readyTarget(asked: AskedTarget): ReadyTarget {
  const way = wayAt(asked);
  if (way.kind !== "task" && asked.resolved.provider.hasOnlyTasks === true) throw hasNoConversations(asked.resolved);
  const { references, ...made } = preparedBy(way, asked);
  const outputGuards = way.kind === "task" ? [] : asked.outputGuards;
  return {
    ...made,
    resolved:
      references === undefined
        ? made.resolved
        : asked.objects.placedAt(made.resolved, references.names, references.isSent),
    fitted: withheldLogprobs(made.fitted, outputGuards),
    outputGuards,
  };
}

function preparedBy(way: Way, asked: AskedTarget): WayResult {
  switch (way.kind) {
    case "translated":
      return translatedConversation(asked, way.reason);
    case "native":
      return nativeRequest(asked, way.native);
    case "raw_prompts":
      return rawPrompts(asked, way.rules);
    default:
      return task(asked, way.rules);
  }
}

function hasNoConversations({ provider: { label, tasks = {} }, target }: Resolved): GatewayError {
  return new GatewayError(
    "invalid_request",
    `${label} has no conversations, so that ${JSON.stringify(target.model)} cannot be asked for one; it is asked for ${Object.keys(tasks).join(" and ")}.`,
    { param: "model" },
  );
}
