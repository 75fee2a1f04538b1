// One upstream request: its row in the record of its call, which only this class changes, and whether it is paid for.
import { emptyAttempt, type SentAttempt } from "../../core/record/empty-record.ts";
import type { ErrorCode } from "../../core/errors.ts";
import type { Usage } from "../../core/chat.ts";
import type { Refusal } from "../../cache/flight.ts";
import type { Attempt, PromptCacheMiss, UsageSource } from "../../core/record/record.ts";
import type { CallClock } from "../call/call-clock.ts";

export class AttemptRecorder {
  readonly row: Readonly<Attempt>;
  readonly #row: { -readonly [Name in keyof Attempt]: Attempt[Name] };
  readonly #clock: CallClock;
  /** `null` where it is not known of this request itself. */
  #isAccepted: boolean | null = null;
  #isOwed: (() => boolean) | null = null;
  #hasResponded = false;
  #refusal: Refusal | null = null;

  /** Called when the request is about to be sent. */
  constructor(request: SentAttempt, clock: CallClock) {
    this.#clock = clock;
    this.row = this.#row = emptyAttempt(request);
  }

  /**
   * Whether the request reached its provider and was not refused; in place of a request that another call has sent, whether
   * this call pays for that one.
   */
  get isAccepted(): boolean {
    return this.#isAccepted ?? this.#isOwed?.() ?? false;
  }

  /** Sets whether the provider has the request: false when it never arrived or was refused. */
  accepted(isAccepted: boolean): void {
    this.#isAccepted = isAccepted;
  }

  /**
   * What the provider has refused the request with; `null` where it has not. Calls that share the request fail with it too,
   * also after this one has ended.
   */
  get refusal(): Refusal | null {
    return this.#refusal;
  }

  /**
   * Records that the head of an upstream response has arrived. Returns whether it is the first response to this
   * request. A response that other calls still wait for when this call has ended is not recorded.
   */
  responded(status: number, requestId: string | null): boolean {
    const isFirst = !this.#hasResponded;
    this.#hasResponded = true;
    if (status >= 300) this.#refusal = { status, nativeCode: null, retryAfterMs: null };
    if (this.#row.totalMs !== null) return isFirst;
    this.#row.headMs ??= this.#clock.elapsedMs();
    this.#row.status = status;
    this.#row.requestId = requestId ?? this.#row.requestId;
    return isFirst;
  }

  /**
   * Records that no request was sent, because the answer comes from the response cache. `isOwed` says whether the call pays
   * for a request that another call has sent, which the provider has accepted.
   */
  fromCache(isOwed: () => boolean): void {
    this.#row.fromCache = true;
    this.#isOwed = isOwed;
  }

  /** Records the provider's own error code, and how long it asked to wait. */
  refused(nativeCode: string | null, retryAfterMs: number | null): void {
    this.#refusal = { ...this.#refusal!, nativeCode, retryAfterMs };
    this.refusedWith(this.#refusal);
  }

  /** Records how the provider has refused the request, which another call may have sent. */
  refusedWith(refusal: Refusal): void {
    if (this.#row.totalMs === null) Object.assign(this.#row, refusal);
  }

  /** Records how long a provider asked to wait in an error inside its stream. */
  retryAfter(retryAfterMs: number | null): void {
    this.#row.retryAfterMs = retryAfterMs;
  }

  firstContent(): void {
    this.#row.firstContentMs = this.#clock.elapsedMs();
  }

  /** Records the model that answered, as the provider reports it. */
  answeredBy(model: string | null): void {
    this.#row.toldModel = model;
  }

  usageKnown(usage: Usage | null, source: UsageSource | null): void {
    this.#row.usage = usage;
    this.#row.usageSource = source;
  }

  /** Records why the provider did not find in its prompt cache what it had kept. */
  missedPromptCache(miss: PromptCacheMiss): void {
    this.#row.promptCacheMiss = miss;
  }

  /** Records the end of the request; only the first call records a time. */
  ended(): void {
    this.#row.totalMs ??= this.#clock.elapsedMs();
  }

  /** Records that a non-streaming answer is complete, which is also the time of its first content. */
  answered(): void {
    this.#row.firstContentMs = this.#row.totalMs = this.#clock.elapsedMs();
  }

  failed(code: ErrorCode): void {
    this.#row.code = code;
  }

  /** Records why the gateway ended the request, unless it had already failed. */
  endedBy(code: ErrorCode): void {
    this.#row.code ??= code;
  }
}
