// A moment in the chosen zone; the other zone is in its title.
import { bothZones, clockTime, dayAndTime } from "../format/time.ts";
import { usePreferences } from "../preferences-context.tsx";

export function TimeText({ at, form = "day" }: { readonly at: string | number; readonly form?: "clock" | "day" }) {
  const { preferences } = usePreferences();
  const timeMs = typeof at === "number" ? at : Date.parse(at);
  const text = form === "clock" ? clockTime(timeMs, preferences.zone) : dayAndTime(timeMs, preferences.zone);
  return (
    <time dateTime={new Date(timeMs).toISOString()} title={bothZones(timeMs)}>
      {text}
    </time>
  );
}
