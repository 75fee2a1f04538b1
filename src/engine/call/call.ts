// An authorized call, with which every step after authorization works. The call itself is immutable; its clock, its
// recorder and its lifetime hold what changes.
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import type { CachedCall } from "../../core/configured/cache.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { GuardServiceUse } from "../../core/configured/outside-guard.ts";
import type { ProjectPolicies } from "../../core/configured/policy.ts";
import { createdOf, type Principal } from "../../core/identity.ts";
import { endUserOf } from "../../core/record/end-user.ts";
import type { CallRecord, PolicyOutcome } from "../../core/record/record.ts";
import { type Snapshot, snapshotSeenBy } from "../../core/snapshot.ts";
import type { Target } from "../../core/target.ts";
import { type TraceHeaders, traceHeaders } from "../../core/record/trace.ts";
import { isSampled } from "../../core/record/sampling.ts";
import type { AttemptRecorder } from "../attempt/attempt-recorder.ts";
import type { CallClock } from "./call-clock.ts";
import type { CallDeadline, CallLifetime } from "./call-lifetime.ts";
import { CallPolicies } from "../policies/call-policies.ts";
import type { CallRecorder } from "./call-recorder.ts";
import { ContentRecorder } from "../content/content-recorder.ts";
import type { ChatContext } from "./context.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { CallServices } from "../guards/outside-verdicts.ts";
import { endpointOf } from "../guards/outside-endpoint.ts";
import { GuardScheduler } from "../guards/guard-scheduler.ts";
import { Eligibility } from "../plan/eligibility.ts";
import { CallMeter } from "../metering/call-meter.ts";
import { CallPrices } from "../metering/call-prices.ts";
import type { ClientHead } from "../fit/caller-headers.ts";
import { CallObjects, type ObjectsWatch } from "../objects/call-objects.ts";
import type { ReceivedCall } from "./received-call.ts";
import { openRuleMeter } from "../../policies/policy-rule.ts";

/** What the headers of the request ask for. */
export interface CallSetting {
  /** Whether the answer is an explanation, whose content is not kept. */
  readonly isExplained: boolean;
  /** Whether the answer states its cost. */
  readonly showsCost: boolean;
}

export class Call {
  readonly context: ChatContext;
  /** Contains only the providers, routes and limits that are visible to the caller. */
  readonly snapshot: Snapshot;
  readonly clock: CallClock;
  readonly deadline: CallDeadline;
  readonly recorder: CallRecorder;
  readonly record: CallRecord;
  readonly lifetime: CallLifetime;
  readonly signal: CancelSignal;
  readonly traceId: string;
  readonly cors: Readonly<Record<string, string>>;
  /** Both as in `ReceivedCall`. */
  readonly located: ReceivedCall["located"];
  readonly keepOpen: ReceivedCall["keepOpen"];
  /** Whether the caller has the permission `debug`. */
  readonly mayDebug: boolean;
  /** Whether the answer states its cost. */
  readonly showsCost: boolean;
  /** Limits, budgets, prices and usage of the call. */
  readonly meter: CallMeter;
  /** `null` when no policy applies. */
  readonly policies: CallPolicies | null;
  /** The services that judge texts for guards; `null` where no guard of the project has one. */
  readonly services: CallServices | null;
  /** `null` when the content of the call is not kept. */
  readonly content: ContentRecorder | null;
  readonly #headers: Headers;
  readonly #clientIp: () => string | null;
  #eligibility: Eligibility | null = null;
  readonly #ruleMeter = openRuleMeter();
  #whenSent: ((target: Target) => void) | null = null;

  constructor(
    received: ReceivedCall,
    sent: ChatRequest,
    principal: Principal,
    { isExplained, showsCost }: CallSetting,
  ) {
    const { context, recorder, lifetime } = received;
    this.context = context;
    this.snapshot = snapshotSeenBy(received.snapshot, principal);
    this.clock = received.clock;
    this.deadline = lifetime.deadline;
    this.recorder = recorder;
    this.record = recorder.record;
    this.lifetime = lifetime;
    this.signal = lifetime.signal;
    this.traceId = recorder.record.traceId;
    this.cors = received.cors;
    this.located = received.located;
    this.keepOpen = received.keepOpen;
    this.#headers = received.headers;
    this.#clientIp = received.clientIp;
    this.objects = new CallObjects(sent, principal, context.objects, this.isProjectThere);
    this.clientHead = { header: this.clientHeader, query: received.query };
    this.mayDebug = principal.permissions.has("debug");
    this.showsCost = showsCost;
    this.meter = this.#meterOf(received, sent, principal);
    const policies = this.snapshot.policies.of(principal.tenantId, principal.projectId);
    this.services = policies?.hasServices === true ? this.#openServices(received.snapshot, principal) : null;
    this.policies = policies === null ? null : this.#policiesOf(policies, sent, principal, received.clientIp);
    this.content = isExplained ? null : this.#contentOf(sent, principal);
    lifetime.authorized(this.meter, this.content);
  }

  #meterOf(received: ReceivedCall, { params }: ChatRequest, principal: Principal): CallMeter {
    const { tenantId, projectId, permissions } = principal;
    const { snapshot, recorder, clock, signal } = this;
    return new CallMeter({
      limits: received.applyLimits(principal, endUserOf(params)),
      prices: new CallPrices({
        snapshot,
        clock: this.context.clock,
        tenantId,
        projectId,
        mayPrice: permissions.has("custom_price"),
      }),
      recorder,
      clock,
      signal,
    });
  }

  #policiesOf(
    policies: ProjectPolicies,
    sent: ChatRequest,
    principal: Principal,
    clientIp: () => string | null,
  ): CallPolicies {
    const { tenantId } = principal;
    const { guards, longRequests } = this.context;
    const outcomes: PolicyOutcome[] = [];
    this.recorder.policedBy(outcomes);
    return new CallPolicies(policies, {
      sent,
      operation: this.record.operation,
      principal,
      clientIp: () => clientIp() ?? "",
      now: () => this.record.startedAtMs,
      meter: this.#ruleMeter,
      outcomes,
      scheduler: new GuardScheduler(guards, { tenantId, signal: this.signal, services: this.services }),
      longRequests,
    });
  }

  /** `snapshot` has the providers of every scope, because a guard uses those of its policy's. */
  #openServices(snapshot: Snapshot, { tenantId }: Principal): CallServices {
    const { guardServices, providers, credentials, clock } = this.context;
    const uses: GuardServiceUse[] = [];
    this.recorder.judgedBy(uses);
    return new CallServices({
      tenantId,
      services: guardServices,
      endpointOf: (service) => endpointOf(service, { snapshot, providers, credentials, now: () => clock.now() }),
      uses,
      monotonic: () => clock.monotonic(),
      waiting: (verdict) => this.clock.waiting(verdict),
    });
  }

  /** Which targets and fallbacks are for this call; asked only where a route has conditions, and decided once. */
  eligibilityOf(sent: ChatRequest, principal: Principal, http: Headers): Eligibility {
    return (this.#eligibility ??= new Eligibility({
      sent,
      principal,
      http,
      operation: this.record.operation,
      clientIp: () => this.#clientIp() ?? "",
      now: () => this.record.startedAtMs,
      meter: this.#ruleMeter,
      conditionHeaders: this.snapshot.conditionHeaders,
      traceId: this.traceId,
    }));
  }

  /** `copy` is called with the target when the first request of the call is about to be sent to a provider. */
  copiedBy(copy: (target: Target) => void): void {
    this.#whenSent = copy;
  }

  /** Called when a request is about to be sent to this target. */
  sendsTo(target: Target): void {
    const copy = this.#whenSent;
    if (copy === null) return;
    this.#whenSent = null;
    copy(target);
  }

  /** Searches what is kept of the call: that is prepared after its end, when its signal does not matter any more. */
  schedulerOfKept(tenantId: string): GuardScheduler {
    return new GuardScheduler(this.context.guards, {
      tenantId,
      signal: null,
      services: this.services?.unrecorded() ?? null,
    });
  }

  #contentOf(sent: ChatRequest, { tenantId, projectId }: Principal): ContentRecorder | null {
    const { contentLogs } = this.snapshot;
    const rules = contentLogs.size === 0 ? undefined : contentLogs.get(projectId);
    if (rules === undefined || !isSampled(this.traceId, rules.sample)) return null;
    const policies = this.snapshot.policies.of(tenantId, projectId);
    const { longRequests } = this.context;
    const scheduler = this.schedulerOfKept(tenantId);
    return new ContentRecorder(rules, policies, sent, scheduler, longRequests, this.isProjectThere);
  }

  /** Whether the project of the call is still there: it may be removed meanwhile, and another one may have its id. */
  readonly isProjectThere = (): boolean => {
    const { record, snapshot, context } = this;
    return createdOf(record, context.snapshot()).projectMs === createdOf(record, snapshot).projectMs;
  };

  /** Returns one of the client's own HTTP headers, by lower-case name. */
  readonly clientHeader = (name: string): string | null => this.#headers.get(name);

  /** Ids of things at vendors, in the request and in the answer. */
  readonly objects: CallObjects;

  /** What the client's request says beside its body. */
  readonly clientHead: ClientHead;

  /** Records the attempt whose answer the client receives, and the dispositions of the parameters there. */
  won({
    resolved,
    route,
    fitted,
    requests,
    cached,
    bypassed,
    objects,
  }: {
    readonly resolved: { readonly target: Target };
    readonly route: string;
    readonly fitted: FittedRequest;
    readonly requests: readonly AttemptRecorder[];
    readonly cached: { readonly recorded: CachedCall } | null;
    readonly bypassed: CachedCall | null;
    readonly objects: Pick<ObjectsWatch, "accept"> | null;
  }): void {
    objects?.accept();
    this.recorder.cached(cached?.recorded ?? bypassed);
    this.recorder.targeted(resolved.target, route);
    this.recorder.fitted(fitted);
    this.recorder.answeredBy(requests.at(-1)?.row);
  }

  /** `startMs` is the time of the call at which the attempt began; the present one when absent. */
  beginAttempt({ providerId, family, model }: Target, startMs = this.clock.elapsedMs()): AttemptRecorder {
    const vendor = this.context.providers.get(family)?.vendor ?? family;
    return this.recorder.beginAttempt(providerId, vendor, model, startMs);
  }

  /**
   * Returns the headers that make spans of a provider or a tool server children of the call's span `spanId`; `null`
   * when none are sent.
   */
  traceHeaders(spanId: string | null): TraceHeaders | null {
    const { trace } = this.record;
    return trace === null || spanId === null || this.context.tracing?.propagate !== true
      ? null
      : traceHeaders(trace, spanId);
  }

  /**
   * Returns the headers that report the limits that applied in every response head (promise 4.4); `null` when none did.
   */
  rateHeaders(): Readonly<Record<string, string>> | null {
    return this.meter.headers();
  }
}
