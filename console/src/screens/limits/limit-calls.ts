// The list of the calls that a limit or budget counts: its scope as terms of the filter, and its period or window as a range.
import type { LimitDetail } from "../../api/types.ts";
import { summedPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";

const SECOND_MS = 1000;
const WINDOWS_MS: Readonly<Record<string, number>> = {
  second: SECOND_MS,
  minute: 60 * SECOND_MS,
  hour: 3600 * SECOND_MS,
  day: 86_400 * SECOND_MS,
};

/** `value`: the one whose calls are meant, where each value of a part of the scope has a count of its own. */
export function countedCalls(limit: LimitDetail, value: string | null): string | null {
  const terms = scopeTerms(limit, value);
  const time = countedTime(limit);
  return terms === null || time === null ? null : summedPath(terms, time);
}

/** Null where the scope has a pattern, which the list of calls has no filter for. Without a value, all values are meant. */
export function scopeTerms(
  { scope, project_id: project }: LimitDetail,
  value: string | null = null,
): readonly string[] | null {
  const exact = Object.entries(scope).flatMap(([name, own]): readonly (readonly [string, string])[] =>
    own !== "*" ? [[name, own]] : value === null ? [] : [[name, value]],
  );
  if (exact.some(([, one]) => one.includes("*"))) return null;
  return [
    ...(project === null ? [] : [termText("project", project)]),
    ...exact.flatMap(([name, one]) => termsOf(name, one)),
  ];
}

function termsOf(name: string, value: string): readonly string[] {
  if (name === "user") return [termText("end_user", value)];
  if (name !== "model") return [termText(name, value)];
  const colon = value.indexOf(":");
  return [termText("provider", value.slice(0, colon)), termText("model", value.slice(colon + 1))];
}

/** Up to the time of the figures; null for what counts the calls that run. */
export function countedTime(limit: LimitDetail): { readonly from: string; readonly to: string } | null {
  const { kind, metric, window, begins_at: beginsAt, days, as_of: to } = limit;
  if (metric === "concurrency") return null;
  if (kind === "limit") {
    const lengthMs = WINDOWS_MS[window ?? ""];
    return lengthMs === undefined ? null : { from: new Date(Date.parse(to) - lengthMs).toISOString(), to };
  }
  // one without an end has counted since its first day
  const firstDay = days?.[0]?.day;
  const from = beginsAt ?? (firstDay === undefined ? null : `${firstDay}T00:00:00.000Z`);
  return from === null ? null : { from, to };
}
