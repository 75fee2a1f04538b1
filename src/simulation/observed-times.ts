// How long targets took to answer recorded calls. A simulated answer takes as long as one of those.
import type { RecordedCall } from "../store/calls/calls.ts";
import type { AnswerTimes } from "./upstream-course.ts";

export type ObservedTimes = ReturnType<typeof observedTimes>;

type Answer = RecordedCall["attempts"][number];

/** A prime, by which calls in a row get answers from all over the list. */
const STEP = 7919;

const targetOf = ({ provider, model }: Pick<Answer, "provider" | "model">): string => `${provider}:${model}`;

function timesOf({ startMs, firstContentMs, totalMs }: Answer): AnswerTimes | null {
  if (totalMs === null) return null;
  const attemptMs = Math.max(0, totalMs - startMs);
  return { firstMs: firstContentMs === null ? attemptMs : Math.max(0, firstContentMs - startMs), totalMs: attemptMs };
}

function answerOf({ attempts }: RecordedCall): Answer | undefined {
  return attempts.findLast(({ code, totalMs }) => code === null && totalMs !== null);
}

export function observedTimes(calls: readonly RecordedCall[]) {
  const byTarget = new Map<string, { readonly streamed: AnswerTimes[]; readonly whole: AnswerTimes[] }>();
  for (const { attempts, stream } of calls)
    for (const attempt of attempts) {
      const times = attempt.code === null ? timesOf(attempt) : null;
      if (times === null) continue;
      const lists = byTarget.getOrInsertComputed(targetOf(attempt), () => ({ streamed: [], whole: [] }));
      lists[stream ? "streamed" : "whole"].push(times);
    }
  return {
    /** How many answers of the target were recorded. */
    count(target: string): number {
      const lists = byTarget.get(target);
      return lists === undefined ? 0 : lists.streamed.length + lists.whole.length;
    },
    /**
     * The times of a call's own answer, where the target gave it; else those of another recorded answer of the target,
     * which `number` chooses; else those of the call's own answer at whatever target gave it.
     */
    at(target: string, call: RecordedCall, number: number): AnswerTimes {
      const own = answerOf(call);
      const lists = byTarget.get(target);
      if (own !== undefined && targetOf(own) === target) return timesOf(own)!;
      const [likely, other] =
        lists === undefined ? [[], []] : call.stream ? [lists.streamed, lists.whole] : [lists.whole, lists.streamed];
      const list = likely.length > 0 ? likely : other;
      if (list.length > 0) return list[(number * STEP) % list.length]!;
      return own === undefined
        ? { firstMs: call.firstContentMs ?? call.totalMs, totalMs: call.totalMs }
        : timesOf(own)!;
    },
  };
}
