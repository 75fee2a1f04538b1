// Prepares a request for a target by its way, with what all ways have in common: the guards on the answer, and the
// credentials that reach what the request names at a vendor.
import type { CacheMarks } from "../../core/configured/prompt-cache.ts";
import { GatewayError } from "../../core/errors.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import { hasOwnMarks } from "../fit/cache-marks.ts";
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
  const written = asked.settings.cachesPrompts === true ? markedResult(made, way, asked) : made;
  const outputGuards = way.kind === "task" ? [] : asked.outputGuards;
  return {
    ...written,
    resolved:
      references === undefined
        ? made.resolved
        : asked.objects.placedAt(made.resolved, references.names, references.isSent),
    fitted: withheldLogprobs(written.fitted, outputGuards),
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

/** Only conversations have marks, at a target that takes them, where the client has set none. */
function markedResult(made: WayResult, { kind }: Way, { request, resolved }: AskedTarget): WayResult {
  const marks =
    kind === "translated" || kind === "native" ? (resolved.provider.cacheMarks?.(resolved.target) ?? null) : null;
  if (marks === null || hasOwnMarks(request)) return made;
  const { fitted, fittedFor } = made;
  return {
    ...made,
    fitted: markedWhenWritten(fitted, marks),
    ...(fittedFor !== undefined && { fittedFor: (identity) => markedWhenWritten(fittedFor(identity), marks) }),
  };
}

/** Says in the fitted request that it gets marks when it is written. */
function markedWhenWritten(fitted: FittedRequest, marks: CacheMarks): FittedRequest {
  const { request, native } = fitted;
  if (native === undefined) return { ...fitted, request: { ...request, cacheMarks: marks } };
  if (native.markEdits === undefined) return fitted;
  return { ...fitted, request: { ...request, written: { ...request.written!, cacheMarks: marks } } };
}

function hasNoConversations({ provider: { label, tasks = {} }, target }: Resolved): GatewayError {
  return new GatewayError(
    "invalid_request",
    `${label} has no conversations, so that ${JSON.stringify(target.model)} cannot be asked for one; it is asked for ${Object.keys(tasks).join(" and ")}.`,
    { param: "model" },
  );
}
