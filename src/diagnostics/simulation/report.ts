// The results of a simulation: numbers by route and target, by fault, and in total. It is plain data, which is printed
// unchanged as JSON. Times are milliseconds of virtual time.
import { type AttemptTrace, type CallTrace, firstSentTo, type Run } from "../../simulation/run-calls.ts";
import { concerns, type Fault } from "../../simulation/faults.ts";

export type Counts = Readonly<Record<string, number>>;

export type Report = ReturnType<typeof reportOf>;
export type TargetRow = Report["targets"][number];
export type OpeningRow = Report["health"][number];
export type FaultRow = Report["faults"][number];
export type CallRow = ReturnType<typeof callRow>;
export type Totals = Report["totals"];

export function reportOf(
  run: Run,
  faults: readonly Fault[],
  { seed, isVerbose }: { readonly seed: number; readonly isVerbose: boolean },
) {
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

function targetRows(asked: string, calls: readonly CallTrace[]) {
  const succeeded = calls.filter(({ code }) => code === null);
  // Targets come from the plan, so that one without any attempt is listed too.
  const planned = new Set(
    calls[0]!.call.prepared.stages.flatMap(({ candidates }) => candidates.map(({ target }) => target.name)),
  );
  const names = new Set([...planned, ...calls.flatMap(({ attempts }) => attempts.map(({ target }) => target))]);
  return [...names].map((target) => {
    const attempts = calls.flatMap((call) => call.attempts.filter((each) => each.target === target));
    const ended = (ending: AttemptTrace["ending"]): number => attempts.filter((each) => each.ending === ending).length;
    const won = succeeded.filter(({ winner }) => winner!.target === target);
    return {
      /** The route or model that the calls asked for. */
      asked,
      target,
      /** The calls that had an attempt at this target. */
      calls: calls.filter((call) => call.attempts.some((each) => each.target === target)).length,
      attempts: attempts.length - ended("refused") - ended("shed"),
      hedges: attempts.filter((each) => each.isHedge).length,
      successes: ended("success"),
      /** Counted by code. */
      failures: countsOf(attempts.filter(({ ending }) => ending === "failed").map(({ code }) => code!)),
      cancelled: ended("cancelled"),
      /** Attempts that were not sent: the target cannot serve the request, or had no free slot. */
      refused: ended("refused"),
      shed: ended("shed"),
      /** The fraction of the route's successful calls that this target answered; `null` when none succeeded. */
      share: succeeded.length === 0 ? null : rounded(won.length / succeeded.length),
      ...addedOf(won),
    };
  });
}

function faultRow(fault: Fault, number: number, { calls, health }: Run) {
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
    /** The calls with an attempt that met this fault. */
    calls: touched.length,
    attempts: attempts.length,
    failures: countsOf(attempts.filter(({ ending }) => ending === "failed").map(({ code }) => code!)),
    /** The final outcomes of these calls. */
    succeeded: succeeded.length,
    failed: touched.length - succeeded.length,
    ...addedOf(succeeded),
    breaker_opened: health.filter(
      (event) => event.what === "opened" && concerns(target, event.target) && event.atMs >= fromMs && event.atMs < toMs,
    ).length,
    /** From the end of the fault to the first success at one of its targets; `null` when there was none. */
    back_after_ms: Number.isFinite(backMs) ? rounded(backMs - toMs) : null,
  };
}

function totalsOf({ calls, endedMs }: Run) {
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
    /** Counted by the code that the caller got. */
    failures: countsOf(calls.flatMap(({ code }) => code ?? [])),
    attempts: attempts.length,
    hedges: attempts.filter(({ isHedge }) => isHedge).length,
    ...addedOf(succeeded),
    first_content_p50_ms: percentile(firstMs, 0.5),
    first_content_p95_ms: percentile(firstMs, 0.95),
    ended_ms: rounded(endedMs),
  };
}

function callRow(trace: CallTrace) {
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
    /** Targets that `when` and `share` leave out for the call; absent when there are none. */
    ...(passedOver.length > 0 && {
      passed_over: passedOver.map(({ candidate }) => ({ target: candidate.target.name, why: candidate.passedOver! })),
    }),
    /** The target of the mirror that gets a copy of the call; absent when none does. */
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

/** Of calls that were answered: the time between the call and the attempt that answered it. */
function addedOf(succeeded: readonly CallTrace[]) {
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
