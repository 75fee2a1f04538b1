// The row of one upstream request in the record of its call. Nothing else changes such a row.
import type { ErrorCode } from "../core/errors.ts";
import type { Usage } from "../core/chat.ts";
import type { Attempt, UsageSource } from "../core/record.ts";
import type { CallClock } from "./call-clock.ts";

export class AttemptRecorder {
  readonly row: Readonly<Attempt>;
  readonly #row: { -readonly [Name in keyof Attempt]: Attempt[Name] };
  readonly #clock: CallClock;

  /** The request is about to be sent. */
  constructor(request: Pick<Attempt, "provider" | "vendor" | "model" | "round" | "spanId">, clock: CallClock) {
    this.#clock = clock;
    const { provider, vendor, model, round, spanId } = request;
    this.row = this.#row = {
      provider,
      vendor,
      model,
      round,
      startMs: clock.elapsedMs(),
      spanId,
      usage: null,
      usageSource: null,
      status: null,
      code: null,
      toldModel: null,
      requestId: null,
      nativeCode: null,
      retryAfterMs: null,
      headMs: null,
      firstContentMs: null,
      totalMs: null,
    };
  }

  /** The head of an upstream response is there. Returns whether it is the first of this request. */
  responded(status: number, requestId: string | null): boolean {
    const isFirst = this.#row.headMs === null;
    this.#row.headMs ??= this.#clock.elapsedMs();
    this.#row.status = status;
    this.#row.requestId = requestId ?? this.#row.requestId;
    return isFirst;
  }

  /** The provider's own code of its refusal, and how long it asked to wait. */
  refused(nativeCode: string | null, retryAfterMs: number | null): void {
    this.#row.nativeCode = nativeCode;
    this.#row.retryAfterMs = retryAfterMs;
  }

  /** How long a provider asked to wait in an error inside its stream. */
  retryAfter(retryAfterMs: number | null): void {
    this.#row.retryAfterMs = retryAfterMs;
  }

  firstContent(): void {
    this.#row.firstContentMs = this.#clock.elapsedMs();
  }

  /** The model that the provider says has answered. */
  answeredBy(model: string | null): void {
    this.#row.toldModel = model;
  }

  usageKnown(usage: Usage | null, source: UsageSource | null): void {
    this.#row.usage = usage;
    this.#row.usageSource = source;
  }

  /** The request is over; only the first end has a time. */
  ended(): void {
    this.#row.totalMs ??= this.#clock.elapsedMs();
  }

  /** The whole of a non-streaming answer is there, which is its first content as well. */
  answered(): void {
    this.#row.firstContentMs = this.#row.totalMs = this.#clock.elapsedMs();
  }

  failed(code: ErrorCode): void {
    this.#row.code = code;
  }

  /** Names why the request was ended from this side, unless it failed by itself before. */
  endedBy(code: ErrorCode): void {
    this.#row.code ??= code;
  }
}
