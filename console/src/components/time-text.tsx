// A moment in the chosen zone, without the day where that is today, and with the year where it is far away; the other zones are in its title.
import { useState } from "react";
import { useClock } from "../clock.ts";
import { clockTime, dayAndTime, dayOf, FAR_MS, inAllZones, yearAndMinute, type Zone } from "../format/time.ts";
import { useZone } from "../use-zone.ts";

interface TimeTextProps {
  readonly at: string | number;
  readonly form?: "short" | "day";
}

export function TimeText({ at, form = "short" }: TimeTextProps) {
  const zone = useZone();
  const timeMs = typeof at === "number" ? at : Date.parse(at);
  const clock = useClock();
  const [todayMs] = useState(clock);
  return (
    <time dateTime={new Date(timeMs).toISOString()} title={inAllZones(timeMs, zone)}>
      {textOf(timeMs, todayMs, zone, form)}
    </time>
  );
}

function textOf(timeMs: number, todayMs: number, zone: Zone, form: "short" | "day"): string {
  if (Math.abs(timeMs - todayMs) > FAR_MS) return yearAndMinute(timeMs, zone);
  const isToday = dayOf(timeMs, zone) === dayOf(todayMs, zone);
  return form === "short" && isToday ? clockTime(timeMs, zone) : dayAndTime(timeMs, zone);
}
