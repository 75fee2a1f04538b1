// A moment in the chosen zone, without the day where that is today; the other zone is in its title.
import { useState } from "react";
import { bothZones, clockTime, dayAndTime, dayOf } from "../format/time.ts";
import { usePreferences } from "../preferences-context.tsx";

export function TimeText({ at, form = "short" }: { readonly at: string | number; readonly form?: "short" | "day" }) {
  const { preferences } = usePreferences();
  const timeMs = typeof at === "number" ? at : Date.parse(at);
  const [todayMs] = useState(() => Date.now());
  const isToday = dayOf(timeMs, preferences.zone) === dayOf(todayMs, preferences.zone);
  const text = form === "short" && isToday ? clockTime(timeMs, preferences.zone) : dayAndTime(timeMs, preferences.zone);
  return (
    <time dateTime={new Date(timeMs).toISOString()} title={bothZones(timeMs)}>
      {text}
    </time>
  );
}
