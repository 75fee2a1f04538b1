// What an attempt learns of its provider's prompt cache: it notes the prompt as it was sent, and tells in the record why the
// provider found less of it than it had kept (promise 16.2). Only the calls of conversations that are kept together for the
// cache have one.
import type { NumberedPrompt } from "../../core/configured/prompt-cache.ts";
import { digestOf } from "../../core/text/digest.ts";
import type { Call } from "../call/call.ts";
import type { RouteCandidate } from "../plan/candidate.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import type { AttemptRecorder } from "./attempt-recorder.ts";

export type PromptWatch = ReturnType<typeof watchPrompt>;

/** `key` is what the calls of the conversation have in common. */
export function watchPrompt(key: string, candidate: RouteCandidate, { target }: Resolved, call: Call) {
  const { tenantId, projectId } = call.record;
  const { clock, credentials, routing } = call.context;
  // a key may hold text of the conversation
  const session = digestOf([tenantId, projectId, key]);
  const place = {
    target: candidate.target.name,
    credential: target.credential === null ? null : credentials.identityOf(target.credential),
  };
  let sent: { readonly pieces: NumberedPrompt; readonly startMs: number } | null = null;
  return {
    /** Called when the request is about to be sent; `pieces` are null where they do not tell the whole prompt. */
    sending(pieces: NumberedPrompt | null): void {
      if (pieces !== null) sent ??= { pieces, startMs: clock.monotonic() };
    },
    /** Called when the usage of the attempt is known. Of several equal requests, the first one tells. */
    ended([request]: readonly AttemptRecorder[]): void {
      const usage = request?.row.usage;
      if (sent === null || request === undefined || usage == null || request.row.fromCache) return;
      const miss = routing.prompts.answered(session, { ...sent, ...place, endMs: clock.monotonic() }, usage);
      if (miss !== null) request.missedPromptCache(miss);
    },
  };
}
