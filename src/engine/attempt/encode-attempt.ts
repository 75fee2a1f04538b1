// The upstream request of one attempt as its provider writes it, before a credential is added.
import type { ChatRequest } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { isPending, type MaybePromise, whenReady } from "../../core/maybe-promise.ts";
import type { Target } from "../../core/target.ts";
import type { Provider } from "../../providers/provider.ts";
import type { EncodedThere } from "../long-bodies/long-body-worker.ts";
import type { Call } from "../call/call.ts";
import { warned } from "../carriers/opened-request.ts";
import { withClientHead } from "../fit/caller-headers.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { encodedRequest, joinedTexts, type TaskPart } from "../fit/task-parts.ts";
import { unfit, UnfitForTarget } from "../fit/unfit-for-target.ts";
import type { RouteCandidate } from "../plan/candidate.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { withFetchedParts } from "./fetch-parts.ts";
import { promptPieces } from "./prompt-pieces.ts";

/**
 * Fetches the content that the provider accepts only as bytes, and encodes the request; of a task, only the inputs of
 * `part` unless that is null. With `tellsPrompt`, the result has the pieces of the prompt. Throws UnfitForTarget.
 */
export function encodedFor(
  fitted: ChatRequest,
  { resolved: { provider, target }, candidate }: EncodingAttempt,
  call: Call,
  part: TaskPart | null,
  tellsPrompt = false,
): MaybePromise<EncodedThere> {
  const called = withClientHead(target, provider, fitted, call.clientHead);
  // texts that are made of several are written once more for guards
  const tellsJoined =
    provider.joinedTexts !== undefined && call.policies?.searchesJoined(candidate.policyTarget) === true;
  const encoding = whenReady(withFetchedParts(fitted, provider, target.model, call), (request) =>
    request.held === undefined
      ? encodedHere(request, called, { provider, part, tellsPrompt, tellsJoined })
      : encodedThere(request, called, call, part, tellsPrompt),
  );
  return tellsJoined ? whenReady(encoding, (encoded) => searched(encoded, candidate, call)) : encoding;
}

/** The attempt for which a request is encoded. */
interface EncodingAttempt {
  readonly resolved: Pick<Resolved, "provider" | "target">;
  readonly candidate: Pick<RouteCandidate, "policyTarget">;
}

/** Returns the request when guards have searched the texts that are made of several. Throws UnfitForTarget. */
function searched(
  encoded: EncodedThere,
  { policyTarget }: Pick<RouteCandidate, "policyTarget">,
  { policies }: Call,
): MaybePromise<EncodedThere> {
  const { joined = [] } = encoded;
  if (joined.length === 0 || policies === null) return encoded;
  try {
    const searching = policies.joined(joined, policyTarget);
    return isPending(searching) ? searching.then(() => encoded, refused) : encoded;
  } catch (thrown) {
    return refused(thrown);
  }
}

function refused(thrown: unknown): never {
  throw thrown instanceof GatewayError && thrown.code === "policy_violation" ? new UnfitForTarget(thrown) : thrown;
}

interface EncodedWith {
  readonly provider: Provider;
  readonly part: TaskPart | null;
  readonly tellsPrompt: boolean;
  readonly tellsJoined: boolean;
}

function encodedHere(
  request: ChatRequest,
  target: Target,
  { provider, part, tellsPrompt, tellsJoined }: EncodedWith,
): EncodedThere {
  try {
    const encoded = encodedRequest(request, provider, target, part);
    const joined = tellsJoined ? joinedTexts(request, provider, target) : [];
    if (!tellsPrompt && joined.length === 0) return encoded;
    return { ...encoded, ...(tellsPrompt && { prompt: promptPieces(request) }), joined };
  } catch (thrown) {
    throw unfit(thrown);
  }
}

/** Makes the thread that holds the conversation encode the request. */
async function encodedThere(
  request: ChatRequest,
  target: Target,
  call: Call,
  part: TaskPart | null,
  tellsPrompt: boolean,
): Promise<EncodedThere> {
  try {
    return await call.context.longRequests!.encode(request, target, call.context.clock.now(), part, tellsPrompt);
  } catch (thrown) {
    throw unfit(thrown);
  }
}

/** Adds what the thread that holds the conversation left out, which it found only when it wrote the request. */
export function withLeftThere(fitted: FittedRequest, { leavesReasoning, left = [] }: EncodedThere): FittedRequest {
  const { request, dispositions, dropped } = fitted;
  const untold = left.filter((name) => dispositions[name] !== "dropped");
  const told = leavesReasoning === true ? { ...fitted, request: warned(request) } : fitted;
  if (untold.length === 0) return told;
  return {
    ...told,
    dispositions: { ...dispositions, ...Object.fromEntries(untold.map((name) => [name, "dropped" as const])) },
    dropped: [...new Set([...dropped, ...untold.map((name) => request.form.pathOf(name, request))])],
  };
}
