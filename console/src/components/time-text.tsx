// A moment in the chosen zone, without the day where that is today; the other zones are in its title.
import { useState } from "react";
import { useClock } from "../clock.ts";
import { clockTime, dayAndTime, dayOf, inAllZones } from "../format/time.ts";
import { useZone } from "../use-zone.ts";

export function TimeText({ at, form = "short" }: { readonly at: string | number; readonly form?: "short" | "day" }) {
  const zone = useZone();
  const timeMs = typeof at === "number" ? at : Date.parse(at);
  const clock = useClock();
  const [todayMs] = useState(clock);
  const isToday = dayOf(timeMs, zone) === dayOf(todayMs, zone);
  const text = form === "short" && isToday ? clockTime(timeMs, zone) : dayAndTime(timeMs, zone);
  return (
    <time dateTime={new Date(timeMs).toISOString()} title={inAllZones(timeMs, zone)}>
      {text}
    </time>
  );
}
