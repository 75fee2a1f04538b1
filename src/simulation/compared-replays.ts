// What two replays of the same calls differ in: in figures, and in sentences for people.
import { counted } from "../core/text/counted.ts";
import { usd } from "../accounting/price.ts";
import { type Percentiles, percentilesOf } from "../core/percentiles.ts";
import type { RecordedCall } from "../store/calls/calls.ts";
import { type ExampleCalls, examplesOf } from "./example-calls.ts";
import type { Replay, ReplayedCall } from "./replay.ts";

/** The most refusals that sentences tell. */
const MOST_TOLD = 5;

export type ReplaySums = ReturnType<typeof sumsOf>;

export interface Difference {
  readonly movedCalls: number;
  readonly moves: readonly ({ readonly from: string | null; readonly to: string | null } & ExampleCalls)[];
  readonly newlyFailed: number;
  readonly newlyAnswered: number;
  /** Of the calls whose cost is known on both sides. */
  readonly costNanoUsd: number;
  readonly sentences: readonly string[];
}

export function sumsOf({ calls, targets, unjudged }: Replay, recorded: readonly RecordedCall[]) {
  const answered = calls.filter(({ code }) => code === null);
  const numbered = calls.map((call, number) => ({ call, traceId: recorded[number]!.traceId }));
  const refusals = Map.groupBy(
    numbered.flatMap(({ call, traceId }) => call.refusals.map((refusal) => ({ refusal, traceId }))),
    ({ refusal: { target, code, param, message } }) => JSON.stringify([target, code, param, message]),
  );
  const failures = Map.groupBy(
    numbered.filter(({ call }) => call.code !== null),
    ({ call }) => call.code!,
  );
  return {
    answered: answered.length,
    failed: calls.length - answered.length,
    attempts: calls.reduce((sum, { attempts }) => sum + attempts, 0),
    /** The calls that no target answers, by the error that they end with. */
    failures: [...failures]
      .map(([code, list]) => ({ code, ...examplesOf(list.map(traceIdOf)) }))
      .toSorted((a, b) => b.calls - a.calls),
    /** Calls that a target does not take, whatever becomes of them elsewhere. */
    refusals: [...refusals.values()]
      .map((list) => ({ ...list[0]!.refusal, ...examplesOf(list.map(traceIdOf)) }))
      .toSorted((a, b) => b.calls - a.calls),
    targets: targets.map((target) => shareOf(target, calls)),
    costNanoUsd: costOf(answered),
    /** Answered calls whose cost is not known. */
    unpriced: answered.filter(({ cost }) => cost === null).length,
    /** As in `Replay`. */
    unjudged,
    firstContentMs: percentilesOf(answered.map(({ firstContentMs }) => firstContentMs)),
    totalMs: percentilesOf(answered.map(({ totalMs }) => totalMs)),
  };
}

const traceIdOf = ({ traceId }: { readonly traceId: string }): string => traceId;

function shareOf(target: string, calls: readonly ReplayedCall[]) {
  const own = calls.filter((call) => call.target === target);
  return {
    target,
    /** Calls that it answers. */
    calls: own.length,
    /** Calls for whose prompts its model is too small. */
    tooLong: calls.filter(({ tooLongAt }) => tooLongAt.includes(target)).length,
    /** Calls that it does not take. */
    refused: calls.filter(({ refusals }) => refusals.some((one) => one.target === target)).length,
    costNanoUsd: costOf(own),
    unpriced: own.filter(({ cost }) => cost === null).length,
  };
}

const costOf = (calls: readonly ReplayedCall[]): number =>
  calls.reduce((sum, { cost }) => sum + (cost?.nanoUsd ?? 0), 0);

export function differenceOf(now: Replay, then: Replay, recorded: readonly RecordedCall[]): Difference {
  const pairs = now.calls.map((before, number) => ({
    before,
    after: then.calls[number]!,
    traceId: recorded[number]!.traceId,
  }));
  const moved = pairs.filter(({ before, after }) => before.target !== after.target);
  const moves = Map.groupBy(moved, ({ before, after }) => JSON.stringify([before.target, after.target]));
  const priced = pairs.filter(({ before, after }) => before.cost !== null && after.cost !== null);
  const figures = {
    movedCalls: moved.length,
    moves: [...moves.values()]
      .map((list) => ({
        from: list[0]!.before.target,
        to: list[0]!.after.target,
        ...examplesOf(list.map(traceIdOf)),
      }))
      .toSorted((a, b) => b.calls - a.calls),
    newlyFailed: pairs.filter(({ before, after }) => before.code === null && after.code !== null).length,
    newlyAnswered: pairs.filter(({ before, after }) => before.code !== null && after.code === null).length,
    costNanoUsd: priced.reduce((sum, { before, after }) => sum + after.cost!.nanoUsd - before.cost!.nanoUsd, 0),
  };
  const costBefore = priced.reduce((sum, { before }) => sum + before.cost!.nanoUsd, 0);
  return { ...figures, sentences: sentencesOf(figures, sumsOf(now, recorded), sumsOf(then, recorded), costBefore) };
}

function sentencesOf(
  { movedCalls, newlyFailed, newlyAnswered, costNanoUsd }: Omit<Difference, "sentences">,
  before: ReplaySums,
  after: ReplaySums,
  costBefore: number,
): readonly string[] {
  const all = after.answered + after.failed;
  if (all === 0) return [];
  const known = new Set(before.refusals.map(({ target, message }) => `${target} ${message}`));
  return [
    movedCalls === 0
      ? "No call changes its target."
      : `${percent(movedCalls, all)} of the calls change their target (${movedCalls} of ${all}).`,
    ...(newlyFailed > 0
      ? [`${counted(newlyFailed, "call")} would fail that ${newlyFailed === 1 ? "is" : "are"} answered now.`]
      : []),
    ...(newlyAnswered > 0
      ? [`${counted(newlyAnswered, "call")} would be answered that ${newlyAnswered === 1 ? "fails" : "fail"} now.`]
      : []),
    ...after.refusals
      .filter(({ target, message }) => !known.has(`${target} ${message}`))
      .slice(0, MOST_TOLD)
      .map(
        ({ calls, target, message }) =>
          `${counted(calls, "call")}: ${target ?? "the route"} refuses ${calls === 1 ? "it" : "them"}. ${message}`,
      ),
    ...after.targets
      .filter(({ target, tooLong }) => tooLong > (before.targets.find((one) => one.target === target)?.tooLong ?? 0))
      .map(({ target, tooLong }) => `The prompts of ${counted(tooLong, "call")} are too long for ${target}.`),
    ...(costNanoUsd === 0
      ? []
      : [
          `The calls would cost ${usd(Math.abs(costNanoUsd))} USD ${costNanoUsd > 0 ? "more" : "less"}${costBefore === 0 ? "" : ` (${percent(Math.abs(costNanoUsd), costBefore)})`}.`,
        ]),
    ...latencySentence(before.totalMs, after.totalMs),
  ];
}

function latencySentence({ p50: before }: Percentiles, { p50: after }: Percentiles): readonly string[] {
  if (before === null || after === null || before === after) return [];
  return [`Half of the calls would end within ${after} ms, instead of ${before} ms.`];
}

function percent(part: number, whole: number): string {
  const share = (part / whole) * 100;
  return share > 0 && share < 1 ? "less than 1 %" : `${Math.round(share)} %`;
}
