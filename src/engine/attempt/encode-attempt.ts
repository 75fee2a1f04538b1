// The upstream request of one attempt as its provider writes it, before a credential is added.
import type { ChatRequest } from "../../core/chat.ts";
import { type MaybePromise, whenReady } from "../../core/maybe-promise.ts";
import type { Target } from "../../core/target.ts";
import type { Provider } from "../../providers/provider.ts";
import type { EncodedThere } from "../long-bodies/long-body-worker.ts";
import type { Call } from "../call/call.ts";
import { warned } from "../carriers/opened-request.ts";
import { withClientHead } from "../fit/caller-headers.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { encodedRequest, type TaskPart } from "../fit/task-parts.ts";
import { unfit } from "../fit/unfit-for-target.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { withFetchedParts } from "./fetch-parts.ts";
import { promptPieces } from "./prompt-pieces.ts";

/**
 * Fetches the content that the provider accepts only as bytes, and encodes the request; of a task, only the inputs of
 * `part` unless that is null. With `tellsPrompt`, the result has the pieces of the prompt. Throws UnfitForTarget.
 */
export function encodedFor(
  fitted: ChatRequest,
  { provider, target }: Pick<Resolved, "provider" | "target">,
  call: Call,
  part: TaskPart | null,
  tellsPrompt = false,
): MaybePromise<EncodedThere> {
  const called = withClientHead(target, provider, fitted, call.clientHead);
  return whenReady(withFetchedParts(fitted, provider, target.model, call), (request) =>
    request.held === undefined
      ? encodedHere(request, called, provider, part, tellsPrompt)
      : encodedThere(request, called, call, part, tellsPrompt),
  );
}

function encodedHere(
  request: ChatRequest,
  target: Target,
  provider: Provider,
  part: TaskPart | null,
  tellsPrompt: boolean,
): EncodedThere {
  try {
    const encoded = encodedRequest(request, provider, target, part);
    return tellsPrompt ? { ...encoded, prompt: promptPieces(request) } : encoded;
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
