// The results of a simulation: numbers by route and target, by fault, and in total. It is plain data, which is printed
// unchanged as JSON. Times are milliseconds of virtual time.
import { type AttemptTrace, type CallTrace, firstSentTo, type Run } from "../../simulation/run-calls.ts";
import { concerns, type Fault } from "../../simulation/faults.ts";

export type Counts = Readonly<Record<string, number>>;

export interface TargetRow {
  /** The route or model that the calls asked for. */
  readonly asked: string;
  readonly target: string;
  /** The calls that had an attempt at this target. */
  readonly calls: number;
  readonly attempts: number;
  readonly hedges: number;
  readonly successes: number;
  /** Counted by code. */
  readonly failures: Counts;
  readonly cancelled: number;
  /** Attempts that were not sent: the target cannot serve the request, or had no free slot. */
  readonly refused: number;
  readonly shed: number;
  /** The fraction of the route's successful calls that this target answered; `null` when none succeeded. */
  readonly share: number | null;
  /** For the calls that it answered: the time between the call and the attempt that answered it. */
  readonly added_p50_ms: number | null;
  readonly added_p95_ms: number | null;
}

export interface OpeningRow {
  readonly at_ms: number;
  readonly target: string;
  readonly what: string;
  readonly until_ms: number | null;
}

export interface FaultRow {
  readonly target: string;
  readonly kind: string;
  readonly status: number | null;
  readonly from_ms: number;
  readonly to_ms: number;
  /** The calls with an attempt that met this fault. */
  readonly calls: number;
  readonly attempts: number;
  readonly failures: Counts;
  /** The final outcomes of these calls. */
  readonly succeeded: number;
  readonly failed: number;
  readonly added_p50_ms: number | null;
  readonly added_p95_ms: number | null;
  readonly breaker_opened: number;
  /** From the end of the fault to the first success at one of its targets; `null` when there was none. */
  readonly back_after_ms: number | null;
}

export interface CallRow {
  readonly at_ms: number;
  readonly asked: string;
  readonly ok: boolean;
  readonly code: string | null;
  readonly target: string | null;
  readonly added_ms: number | null;
  readonly first_content_ms: number | null;
  readonly total_ms: number;
  /** Targets that `when` and `share` leave out for the call; absent when there are none. */
  readonly passed_over?: readonly { readonly target: string; readonly why: string }[];
  /** The target of the mirror that gets a copy of the call; absent when none does. */
  readonly mirrored_to?: string;
  readonly attempts: readonly {
    readonly target: string;
    readonly at_ms: number;
    readonly after_ms: number;
    readonly ending: string;
    readonly code: string | null;
    readonly status: number | null;
    readonly hedge: boolean;
    readonly why: string;
  }[];
}

export interface Totals {
  readonly calls: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Counted by the code that the caller got. */
  readonly failures: Counts;
  readonly attempts: number;
  readonly hedges: number;
  readonly added_p50_ms: number | null;
  readonly added_p95_ms: number | null;
  readonly first_content_p50_ms: number | null;
  readonly first_content_p95_ms: number | null;
  readonly ended_ms: number;
}

export interface Report {
  readonly seed: number;
  readonly targets: readonly TargetRow[];
  readonly health: readonly OpeningRow[];
  readonly faults: readonly FaultRow[];
  readonly totals: Totals;
  readonly calls?: readonly CallRow[];
}

export function reportOf(
  run: Run,
  faults: readonly Fault[],
  { seed, isVerbose }: { readonly seed: number; readonly isVerbose: boolean },
): Report {
  return {
    seed,
    targets: [...Map.groupBy(run.calls, ({ call }) => call.asked)].flatMap(([asked, calls]) =>
      targetRows(asked, calls),
    ),
    health: run.health.map(({ atMs, target, what, untilMs }) => ({
      at_ms: rounded(atMs),
      target,
      what,
      until_ms: untilMs === null ? null : rounded(untilMs),
    })),
    faults: faults.map((fault, number) => faultRow(fault, number, run)),
    totals: totalsOf(run),
    ...(isVerbose && { calls: run.calls.map(callRow) }),
  };
}

function targetRows(asked: string, calls: readonly CallTrace[]): readonly TargetRow[] {
  const succeeded = calls.filter(({ code }) => code === null);
  // Targets come from the plan, so that one without any attempt is listed too.
  const planned = new Set(
    calls[0]!.call.prepared.stages.flatMap(({ candidates }) => candidates.map(({ target }) => target.name)),
  );
  const names = new Set([...planned, ...calls.flatMap(({ attempts }) => attempts.map(({ target }) => target))]);
  return [...names].map((target): TargetRow => {
    const attempts = calls.flatMap((call) => call.attempts.filter((each) => each.target === target));
    const ended = (ending: AttemptTrace["ending"]): number => attempts.filter((each) => each.ending === ending).length;
    const won = succeeded.filter(({ winner }) => winner!.target === target);
    return {
      asked,
      target,
      calls: calls.filter((call) => call.attempts.some((each) => each.target === target)).length,
      attempts: attempts.length - ended("refused") - ended("shed"),
      hedges: attempts.filter((each) => each.isHedge).length,
      successes: ended("success"),
      failures: countsOf(attempts.filter(({ ending }) => ending === "failed").map(({ code }) => code!)),
      cancelled: ended("cancelled"),
      refused: ended("refused"),
      shed: ended("shed"),
      share: succeeded.length === 0 ? null : rounded(won.length / succeeded.length),
      ...addedOf(won),
    };
  });
}

function faultRow(fault: Fault, number: number, { calls, health }: Run): FaultRow {
  const { target, kind, status = null, from_ms: fromMs, to_ms: toMs } = fault;
  const met = (attempt: AttemptTrace): boolean => attempt.faults.includes(number);
  const touched = calls.filter(({ attempts }) => attempts.some(met));
  const attempts = touched.flatMap((call) => call.attempts.filter(met));
  const succeeded = touched.filter(({ code }) => code === null);
  const isBack = (each: AttemptTrace): boolean =>
    each.ending === "success" && each.startedMs >= toMs && concerns(target, each.target);
  const backMs = calls.reduce(
    (soonest, call) => call.attempts.filter(isBack).reduce((so, { endedMs }) => Math.min(so, endedMs), soonest),
    Number.POSITIVE_INFINITY,
  );
  return {
    target,
    kind,
    status,
    from_ms: fromMs,
    to_ms: toMs,
    calls: touched.length,
    attempts: attempts.length,
    failures: countsOf(attempts.filter(({ ending }) => ending === "failed").map(({ code }) => code!)),
    succeeded: succeeded.length,
    failed: touched.length - succeeded.length,
    ...addedOf(succeeded),
    breaker_opened: health.filter(
      (event) => event.what === "opened" && concerns(target, event.target) && event.atMs >= fromMs && event.atMs < toMs,
    ).length,
    back_after_ms: Number.isFinite(backMs) ? rounded(backMs - toMs) : null,
  };
}

function totalsOf({ calls, endedMs }: Run): Totals {
  const succeeded = calls.filter(({ code }) => code === null);
  const attempts = calls
    .flatMap((call) => call.attempts)
    .filter(({ ending }) => ending !== "refused" && ending !== "shed");
  const firstMs = calls.flatMap(({ call, winner }) =>
    winner?.contentMs == null ? [] : [winner.contentMs - call.atMs],
  );
  return {
    calls: calls.length,
    succeeded: succeeded.length,
    failed: calls.length - succeeded.length,
    failures: countsOf(calls.flatMap(({ code }) => code ?? [])),
    attempts: attempts.length,
    hedges: attempts.filter(({ isHedge }) => isHedge).length,
    ...addedOf(succeeded),
    first_content_p50_ms: percentile(firstMs, 0.5),
    first_content_p95_ms: percentile(firstMs, 0.95),
    ended_ms: rounded(endedMs),
  };
}

function callRow(trace: CallTrace): CallRow {
  const { call, attempts, winner, code, endedMs } = trace;
  const { passedOver, copy } = call.prepared;
  const first = firstSentTo(trace);
  return {
    at_ms: rounded(call.atMs),
    asked: call.asked,
    ok: code === null,
    code,
    target: winner?.target ?? null,
    added_ms: winner === null ? null : rounded(winner.startedMs - call.atMs),
    first_content_ms: winner?.contentMs == null ? null : rounded(winner.contentMs - call.atMs),
    total_ms: rounded(endedMs - call.atMs),
    ...(passedOver.length > 0 && {
      passed_over: passedOver.map(({ candidate }) => ({ target: candidate.target.name, why: candidate.passedOver! })),
    }),
    ...(copy !== null && first !== null && call.isCopiedFrom(first) && { mirrored_to: copy.mirror.target.name }),
    attempts: attempts.map(
      ({ target, startedMs, endedMs: attemptEndedMs, ending, code: attemptCode, status, isHedge, why }) => ({
        target,
        at_ms: rounded(startedMs),
        after_ms: rounded(attemptEndedMs - startedMs),
        ending,
        code: attemptCode,
        status,
        hedge: isHedge,
        why,
      }),
    ),
  };
}

function addedOf(succeeded: readonly CallTrace[]): {
  readonly added_p50_ms: number | null;
  readonly added_p95_ms: number | null;
} {
  const addedMs = succeeded.map(({ call, winner }) => winner!.startedMs - call.atMs);
  return { added_p50_ms: percentile(addedMs, 0.5), added_p95_ms: percentile(addedMs, 0.95) };
}

function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted.length === 0 ? null : rounded(sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!);
}

function countsOf(names: readonly string[]): Counts {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Rounds to a microsecond, because further digits are noise. */
function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
