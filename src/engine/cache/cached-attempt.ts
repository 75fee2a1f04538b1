// One attempt that uses the response cache: what was found for it, who pays, and what becomes of its answer.

// Decides (the response cache): Which answers are kept? By: `keep`, `failed`. Also: `cache/flight.ts` (`complete`).
// Rule: Those that a call has read to their end and could use; no call and no filter of the provider refused them, and
// they hand out nothing that lives at a vendor.
// Decides (the response cache): Which guards does a kept answer pass? Also: `engine/attempt/run-attempt.ts`
// (`outputGuards`). Rule: Those of the call that gets it: the bytes of the provider are kept, and read as if they had
// just arrived. A guard that blocks them does not remove them.
import type { CacheQuestion, KeptAnswer, ResponseCache } from "../../cache/response-cache.ts";
import { FlightReader, type FlightRequest, type Refusal } from "../../cache/flight.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import type { CachedCall, CacheOutcome, CacheScope } from "../../core/configured/cache.ts";
import type { FinishReason } from "../../core/chat.ts";
import { asGatewayError } from "../../core/errors.ts";
import { meaningOf } from "../../routing/plan/verdict.ts";
import type { EncodedForTarget } from "../long-bodies/long-body-worker.ts";
import { arrivedBody } from "../../wire/body-bytes.ts";
import type { UpstreamResponse } from "../../wire/upstream.ts";

/** What the cache needs of the row of an upstream request. */
export interface CachedRow extends FlightRequest {
  /** Records that no request was sent; `isOwed` says whether the call pays for that of another call. */
  fromCache(isOwed: () => boolean): void;
  /** Records how the provider has refused the request of another call. */
  refusedWith(refusal: Refusal): void;
}

export interface CachedAttemptOptions {
  readonly cache: ResponseCache;
  readonly question: CacheQuestion;
  readonly scope: CacheScope;
  readonly encoded: EncodedForTarget;
  readonly found: KeptAnswer | FlightReader;
  readonly nowMs: number;
  /** Called when the call has to pay for the request of another call, which has left. */
  readonly onTakenOver: (recorded: CachedCall) => void;
}

export class CachedAttempt {
  /** The request, which was encoded in order to find its answer. */
  readonly encoded: EncodedForTarget;
  readonly #cache: ResponseCache;
  readonly #question: CacheQuestion;
  readonly #scope: CacheScope;
  readonly #found: KeptAnswer | FlightReader;
  readonly #ageMs: number | null;
  readonly #onTakenOver: (recorded: CachedCall) => void;
  /** What a flight has brought. */
  #response: Pick<UpstreamResponse, "header"> | null = null;
  #paid: boolean | null = null;

  constructor({ cache, question, scope, encoded, found, nowMs, onTakenOver }: CachedAttemptOptions) {
    this.encoded = encoded;
    this.#cache = cache;
    this.#question = question;
    this.#scope = scope;
    this.#found = found;
    this.#onTakenOver = onTakenOver;
    this.#ageMs = found instanceof FlightReader ? null : Math.max(0, nowMs - found.askedAtMs);
  }

  /** Whether this attempt sends the request to the provider. */
  get sends(): boolean {
    return this.#found instanceof FlightReader && this.#found.isLeader;
  }

  /** Whether the answer was given before, or to another call, so that this call gets ids of its own (promise 13.5). */
  get isRepeated(): boolean {
    return !this.sends;
  }

  get outcome(): CacheOutcome {
    return this.sends || this.#paid === true ? "miss" : "hit";
  }

  /** What the record says. */
  get recorded(): CachedCall {
    return {
      outcome: this.outcome,
      bypass: null,
      key: this.#question.key,
      scope: this.#scope,
      ageMs: this.#ageMs,
      savedNanoUsd: null,
    };
  }

  /** Returns what was kept, or the response that the equal calls share. Throws what the exchange throws. */
  async respond(
    exchange: (signal: CancelSignal) => Promise<UpstreamResponse>,
    row: CachedRow,
  ): Promise<UpstreamResponse> {
    const found = this.#found;
    if (!this.sends) row.fromCache(() => found instanceof FlightReader && found.owes);
    if (!(found instanceof FlightReader)) {
      const { headers, bytes } = found;
      return {
        status: 200,
        header: (name) => headers[name] ?? null,
        body: arrivedBody(bytes),
      };
    }
    try {
      return (this.#response = await found.respond(exchange, row));
    } catch (thrown) {
      // what follows a refusal depends on its status, also for calls that have not sent the request
      if (found.refusal !== null) row.refusedWith(found.refusal);
      throw thrown;
    }
  }

  /** Releases a slot at the target when the exchange with the provider is over, which may be after this attempt. */
  whenOver(release: () => void): void {
    if (this.#found instanceof FlightReader && this.#found.isLeader) this.#found.whenOver(release);
    else release();
  }

  /**
   * Called when the client has received a complete answer, or is about to. One that the provider's filter has cut off or
   * refused is not kept, because it may answer the same request next time; nor is one that hands out what lives at the
   * vendor, in which the conversations that got it would find one another's files (promise 12.15). `figuresIn` names the
   * header with figures that its body lacks.
   */
  keep(finishReasons: readonly (FinishReason | null)[] = [], hasHandedOut = false, figuresIn?: string): void {
    if (!(this.#found instanceof FlightReader)) return;
    if (hasHandedOut || finishReasons.includes("content_filter")) this.#found.failed(false);
    else this.#cache.keep(this.#found, this.#question, this.#headersOf("content-type", figuresIn));
  }

  #headersOf(...names: readonly (string | undefined)[]): Readonly<Record<string, string>> {
    const headers: Record<string, string> = {};
    for (const name of names) {
      const value = name === undefined ? null : (this.#response?.header(name) ?? null);
      if (value !== null) headers[name!] = value;
    }
    return headers;
  }

  /** Called when the attempt has failed. An answer that was refused, or cannot be read, is not kept. */
  failed(thrown: unknown, isCallOver: boolean): void {
    const { code } = asGatewayError(thrown);
    // the gateway or the client ended the attempt, which says nothing about the answer
    if (meaningOf(code).outcome === "cancelled") return;
    if (this.#found instanceof FlightReader) this.#found.failed(isCallOver);
    // the policies of another call may allow it
    else if (code !== "policy_violation") this.#cache.forget(this.#question);
  }

  /** Returns whether the call pays for the answer; the first call, when it is charged, decides it. */
  decidePayment(): boolean {
    if (this.#paid === null) {
      this.#paid = this.#found instanceof FlightReader && this.#found.decidePayment();
      if (this.#paid && !this.sends) this.#onTakenOver(this.recorded);
    }
    return this.#paid;
  }

  leave(): void {
    if (this.#found instanceof FlightReader) this.#found.leave();
  }
}
