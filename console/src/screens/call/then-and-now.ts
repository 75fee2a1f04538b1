// What has changed since a call was made: the targets that it went to then, and those that the gateway explains now.
import type { Explanation } from "../../api/explanation.ts";
import type { CallDetail } from "../../api/types.ts";
import { recordOf } from "./call-record.ts";

/** Sentences, the most important one first. */
export function differences(call: CallDetail, now: Explanation): readonly string[] {
  const { params = {}, attempts = [] } = recordOf(call.record);
  const last = attempts.at(-1);
  const served = call.provider !== null ? `${call.provider}:${call.model ?? ""}` : null;
  const then = served ?? (last === undefined ? null : `${last.provider}:${last.model ?? ""}`);
  const taken = now.targets.filter(({ passed_over: passed }) => passed === undefined);
  const at = taken.findIndex(({ target }) => target === then);
  const fates = new Map((taken[at]?.parameters ?? []).map(({ name, fate }) => [name, fate]));
  return [
    ...placeText(then, at, taken[0]?.target),
    ...(call.route !== null && call.route !== now.route
      ? [`The route was ${call.route} then, and would be ${now.route} now.`]
      : []),
    ...Object.entries(params).flatMap(([name, fate]) => {
      const today = fates.get(name);
      return today === undefined || today === fate
        ? []
        : [`The parameter ${name} was ${fate} then, and is ${today} now.`];
    }),
    ...now.limits.filter(({ fits }) => !fits).map(({ kind, id }) => `The ${kind} ${id} has no room now.`),
  ];
}

function placeText(then: string | null, at: number, first: string | undefined): readonly string[] {
  if (then === null)
    return first === undefined ? [] : [`No target was chosen then; now it would go to ${first} first.`];
  if (at === 0) return [`Now it would go to ${then} first, as it was then.`];
  if (at > 0)
    return [`Now it would go to ${first!} first; ${then}, where it went then, is number ${at + 1} of the targets.`];
  return [
    `${then}, where it went then, is not among the targets now${first === undefined ? "" : `; it would go to ${first} first`}.`,
  ];
}
