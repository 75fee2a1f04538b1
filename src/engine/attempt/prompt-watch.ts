// What an attempt learns of its provider's prompt cache: it notes the prompt as it was sent, and tells in the record why the
// provider found less of it than it had kept (promise 16.2). Only the calls of conversations that are kept together for the
// cache have one.
import type { NumberedPrompt } from "../../core/configured/prompt-cache.ts";
import { digestOf } from "../../core/text/digest.ts";
import type { Call } from "../call/call.ts";
import type { RouteCandidate } from "../plan/candidate.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import type { AttemptRecorder } from "./attempt-recorder.ts";

export class PromptWatch {
  readonly #session: string;
  readonly #target: string;
  readonly #credential: string | null;
  readonly #call: Call;
  #sent: { readonly pieces: NumberedPrompt; readonly startMs: number } | null = null;

  constructor(session: string, target: string, credential: string | null, call: Call) {
    this.#session = session;
    this.#target = target;
    this.#credential = credential;
    this.#call = call;
  }

  /** Called when the request is about to be sent; `pieces` are null where they do not tell the whole prompt. */
  sending(pieces: NumberedPrompt | null): void {
    const { clock } = this.#call.context;
    if (pieces !== null) this.#sent ??= { pieces, startMs: clock.monotonic() };
  }

  /** Called when the usage of the attempt is known. Of several equal requests, the first one tells. */
  ended([request]: readonly AttemptRecorder[]): void {
    const { clock, routing } = this.#call.context;
    const usage = request?.row.usage;
    if (this.#sent === null || request === undefined || usage == null || request.row.fromCache) return;
    const sent = { ...this.#sent, target: this.#target, credential: this.#credential, endMs: clock.monotonic() };
    const miss = routing.prompts.answered(this.#session, sent, usage);
    if (miss !== null) request.missedPromptCache(miss);
  }
}

/** Returns null for a call whose conversation is not kept together for the cache. */
export function watchPrompt(candidate: RouteCandidate, { target }: Resolved, call: Call): PromptWatch | null {
  const key = candidate.cachedConversation();
  if (key === null) return null;
  const { tenantId, projectId } = call.record;
  // a key may hold text of the conversation
  const session = digestOf([tenantId, projectId, key]);
  const credential = target.credential === null ? null : call.context.credentials.identityOf(target.credential);
  return new PromptWatch(session, candidate.target.name, credential, call);
}
