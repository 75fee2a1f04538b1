// Writes the record of one call while the call runs. A method whose name says what has happened, such as `targeted`, records
// that; it does not ask whether it has happened. Nothing else writes to the record: the outcomes of limits and policies are in lists of their
// own, to which it refers, and each attempt and tool run has its own recorder.
import { summedUsage } from "../../accounting/summed-usage.ts";
import type { ChatRequest, FinishReason, Usage } from "../../core/chat.ts";
import { type ArrivedCall, emptyRecord } from "../../core/record/empty-record.ts";
import type { CachedCall } from "../../core/configured/cache.ts";
import type { ErrorCode, GatewayError } from "../../core/errors.ts";
import { newSpanId } from "../../core/ids.ts";
import type { AccessToken, Principal } from "../../core/identity.ts";
import {
  type Attempt,
  type CallCost,
  type CallRecord,
  type CopiedCall,
  type LimitOutcome,
  type PlanStep,
  type PolicyOutcome,
} from "../../core/record/record.ts";
import type { GuardServiceUse } from "../../core/configured/outside-guard.ts";
import type { Route } from "../../core/configured/route.ts";
import type { ToolRun } from "../../core/configured/tool.ts";
import { bodyCharacters, messageCount, roleCounts } from "../../core/request/conversation-figures.ts";
import { endUserName, endUserOf } from "../../core/record/end-user.ts";
import { unnamedFigures } from "../../core/record/usage.ts";
import { AttemptRecorder } from "../attempt/attempt-recorder.ts";
import type { CallClock } from "./call-clock.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { ToolRunRecorder } from "./tool-run-recorder.ts";

export interface AttemptUsage {
  readonly usage: Usage;
  /** Whether the usage, or a part of it, is the gateway's estimate. */
  readonly isEstimated: boolean;
}

/** Why an answer, or a part of it, has ended. */
export interface RecordedFinish {
  readonly finishReasons: readonly (FinishReason | null)[];
  readonly nativeFinishReasons: readonly string[];
}

/** Longer plans and lists of targets are cut. */
const MAX_PLANNED = 50;

interface RecordedTarget {
  readonly providerId: string;
  readonly model: string;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

export class CallRecorder {
  readonly record: CallRecord;
  readonly #record: Writable<CallRecord>;
  readonly #clock: CallClock;
  readonly #attempts: AttemptRecorder[] = [];
  readonly #attemptRows: Readonly<Attempt>[];
  readonly #toolRows: Readonly<ToolRun>[];
  readonly #plan: PlanStep[] = [];
  /** The target that answers, or the one that was asked last; `null` while there is no plan. */
  #asked: { readonly target: RecordedTarget; readonly route: string } | null = null;
  /** What earlier rounds have used; `null` when nothing is known. */
  #usedBefore: AttemptUsage | null = null;
  #knowsUsage = false;

  constructor(arrived: ArrivedCall, clock: CallClock) {
    this.#clock = clock;
    this.record = this.#record = emptyRecord(arrived);
    this.#record.plan = this.#plan;
    this.#attemptRows = this.#record.attempts as Readonly<Attempt>[];
    this.#toolRows = this.#record.tools as Readonly<ToolRun>[];
  }

  readonly authenticated = (token: Pick<AccessToken, "id" | "tenantId" | "projectId" | "userId">): void => {
    this.#record.tokenId = token.id;
    this.#record.tenantId = token.tenantId;
    // a personal token may access several projects, and the request names one of them
    this.#record.projectId = token.projectId;
    this.#record.userId = token.userId;
  };

  parsed(request: ChatRequest): void {
    const { params, options } = request;
    const user = endUserOf(params);
    this.#record.endUser = user === null ? null : endUserName(user);
    this.#record.modelAsked = options.model;
    this.#record.stream = params.stream === true;
    this.#record.metadata = options.metadata;
    this.#record.messages = messageStatistics(request);
  }

  authorized({ projectId, userId }: Pick<Principal, "projectId" | "userId">): void {
    this.#record.projectId = projectId;
    this.#record.userId = userId;
  }

  /** The limits of the call keep the list up to date. */
  limitedBy(limits: readonly LimitOutcome[]): void {
    this.#record.limits = limits;
  }

  /** The policies of the call keep the list up to date. */
  policedBy(policies: readonly PolicyOutcome[]): void {
    this.#record.policies = policies;
  }

  /** The guard services of the call keep the list up to date. */
  judgedBy(uses: readonly GuardServiceUse[]): void {
    this.#record.guardServices = uses;
  }

  /** Records the first target of the plan, later the one that is asked, and at last the one that answers. */
  targeted(target: RecordedTarget, route: string): void {
    this.#asked = { target, route };
    this.headedFor(target, route);
  }

  /**
   * Records the target of an attempt that is about to begin, until it is asked. The ledger's opening entry names it. If
   * the attempt is refused before it asks anyone, the closed record names the target of before.
   */
  headedFor({ providerId, model }: RecordedTarget, route: string): void {
    this.#record.route = route;
    this.#record.provider = providerId;
    this.#record.model = model;
  }

  /** Records the dispositions of the parameters at the target that is asked, and at last at the one that answers. */
  fitted({ dispositions, request }: FittedRequest): void {
    this.#record.dispositions = dispositions;
    this.#record.warnings = request.warnings;
  }

  /** Records that only an explanation is asked for, so that no provider is called. */
  explains(): void {
    this.#record.explained = true;
  }

  /** Records that the call is a copy of another one. */
  mirrors(traceId: string): void {
    this.#record.mirrorOf = traceId;
  }

  /** Records what became of the copy of the call. */
  copied(copy: CopiedCall): void {
    this.#record.mirror = copy;
  }

  /** Returns `null` when the call is not traced. */
  newSpanId(): string | null {
    return this.#record.trace === null ? null : newSpanId();
  }

  /** Records the version of the route that serves the call from here on. */
  servedBy({ version }: Pick<Route, "version">): void {
    this.#record.routeVersion = version ?? null;
  }

  /** Records which targets the call may go to, unless an earlier round did. */
  mayGoTo(candidates: readonly string[]): void {
    if (this.#record.candidates.length === 0) this.#record.candidates = candidates.slice(0, MAX_PLANNED);
  }

  /** Records a step of the plan. */
  planned(target: string, why: string, waitMs: number): void {
    if (this.#plan.length < MAX_PLANNED)
      this.#plan.push({
        target,
        why,
        atMs: this.#clock.elapsedMs(),
        waitMs,
        round: this.#record.rounds,
        refused: null,
      });
  }

  /** Records that the target of the last step may not be called; `null` where it was not meant for this call. */
  planRefused(code: ErrorCode | null): void {
    if (code === null) this.#plan.pop();
    else if (this.#plan.length > 0) this.#plan.at(-1)!.refused = code;
  }

  /** Records that the head of the stream leaves before there is any content. */
  headSent(): void {
    this.#record.headMs = this.#clock.elapsedMs();
  }

  keptAlive(): void {
    this.#record.keepAlives++;
  }

  /** `vendor` and `startMs` are as in `Attempt`. */
  beginAttempt(provider: string, vendor: string, model: string, startMs: number): AttemptRecorder {
    const sent = {
      provider,
      vendor,
      model,
      round: this.#record.rounds,
      startMs,
      spanId: this.newSpanId(),
    };
    const attempt = new AttemptRecorder(sent, this.#clock);
    this.#attempts.push(attempt);
    this.#attemptRows.push(attempt.row);
    return attempt;
  }

  /** Records that the answer is over, and that no attempt continues after it. */
  attemptsEnded(): void {
    for (const attempt of this.#attempts) attempt.ended();
  }

  beginTool(run: Pick<ToolRun, "callId" | "server" | "tool" | "round" | "spanId">): ToolRunRecorder {
    const recorder = new ToolRunRecorder(run, this.#clock);
    this.#toolRows.push(recorder.row);
    return recorder;
  }

  /** Records what the provider reported in this attempt beside its answer. */
  answeredBy(attempt: Readonly<Attempt> | undefined): void {
    this.#record.providerModel = attempt?.toldModel ?? null;
    this.#record.providerRequestId = attempt?.requestId ?? null;
  }

  /** Records the model that a provider named in its stream, unless one was recorded before. */
  streamedBy(model: string | null): void {
    this.#record.providerModel ??= model;
  }

  /** Whether some usage of the present round is known. */
  get knowsUsage(): boolean {
    return this.#knowsUsage;
  }

  /** Records what the present round has used so far. The record holds the sum over all rounds. */
  used(usage: Usage, isEstimated: boolean): void {
    const before = this.#usedBefore;
    this.#knowsUsage = true;
    const unnamed = unnamedFigures(usage);
    if (unnamed !== null) this.#record.unnamedUsage = { ...this.#record.unnamedUsage, ...unnamed };
    this.#record.usage = before === null ? usage : summedUsage([before.usage, usage]);
    this.#record.usageSource = isEstimated || before?.isEstimated === true ? "estimated" : "provider";
  }

  /** Records what the call has cost so far; `null` when that is not known. */
  costs(cost: CallCost | null): void {
    this.#record.cost = cost;
  }

  /** Records the same by the caller's own price, which no budget counts. */
  costsCaller(cost: CallCost | null): void {
    this.#record.callerCost = cost;
  }

  /**
   * Records what became of an attempt in the response cache, at last of the one that answers; `null` where the cache is off
   * for it.
   */
  cached(cache: CachedCall | null): void {
    const savedNanoUsd = this.#record.cache?.savedNanoUsd ?? null;
    this.#record.cache = cache === null || savedNanoUsd === null ? cache : { ...cache, savedNanoUsd };
  }

  /** Records what an answer from the response cache would have cost; `null` when that is not known. */
  saved(nanoUsd: number | null): void {
    const { cache } = this.#record;
    if (cache !== null && nanoUsd !== null)
      this.#record.cache = { ...cache, savedNanoUsd: (cache.savedNanoUsd ?? 0) + nanoUsd };
  }

  /** Called when a tool round is over and another one begins. */
  nextRound(): void {
    const { usage, usageSource } = this.#record;
    this.#usedBefore = usage === null ? null : { usage, isEstimated: usageSource === "estimated" };
    this.#knowsUsage = false;
    this.#record.rounds += 1;
  }

  finished({ finishReasons, nativeFinishReasons }: RecordedFinish): void {
    this.#record.finishReasons = [...finishReasons];
    this.#record.nativeFinishReasons = [...nativeFinishReasons];
  }

  /** Records the finish reasons of the whole answer when several rounds made it. */
  finishedWith(finishReasons: readonly (FinishReason | null)[]): void {
    this.#record.finishReasons = [...finishReasons];
  }

  /** Withdraws the recorded finish reasons, because the answer continues. */
  unfinished(): void {
    this.finished({ finishReasons: [], nativeFinishReasons: [] });
  }

  /** Records that the stream had its terminator but no finish reason (promise 8.3). */
  finishInferred(): void {
    this.#record.finishInferred = true;
  }

  /** Records that the first content has been sent. */
  firstContent(): void {
    this.#record.firstContentMs = this.#clock.elapsedMs();
  }

  warned(warning: string): void {
    this.#record.warnings = [...this.#record.warnings, warning];
  }

  succeeded(): void {
    this.#record.status = 200;
  }

  failed(error: GatewayError): void {
    this.#record.status = error.status;
    this.#record.code = error.code;
    this.#record.errorDetail = error.detail;
    const attempts = this.#attemptRows;
    this.answeredBy(attempts.findLast(({ code }) => code === error.code) ?? attempts.at(-1));
  }

  /** Records that the client disconnected before the answer was complete. */
  cancelled(): void {
    this.#record.cancelled = true;
  }

  /** Records that the client disconnected in the middle of a stream. */
  leftInStream(): void {
    this.#record.status = 499;
    this.#record.code = "client_closed";
    for (const attempt of this.#attempts) if (attempt.row.totalMs === null) attempt.endedBy("client_closed");
  }

  /** Closes the record, which does not change any more. */
  close(): void {
    this.#record.totalMs = this.#clock.elapsedMs();
    this.#record.ownMs = this.#clock.ownMs();
    this.attemptsEnded();
    if (this.#asked !== null) this.headedFor(this.#asked.target, this.#asked.route);
    // What was refused before any provider was asked was served by none (promise 9.9).
    const isShown = this.#record.explained && this.#record.code === null;
    if (this.#attempts.length === 0 && !isShown) this.#record.provider = this.#record.model = null;
  }
}

function messageStatistics(request: ChatRequest): CallRecord["messages"] {
  return {
    count: messageCount(request),
    roles: Object.fromEntries(roleCounts(request)),
    blocks: [...request.blocks.keys()],
    bodyCharacters: bodyCharacters(request),
  };
}
