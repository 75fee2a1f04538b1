// The usual ranges of time as links, and the moments of a range that was chosen otherwise.
import { Link, useLocation } from "wouter";
import { dayAndTime } from "../../format/time.ts";
import { useZone } from "../../use-zone.ts";
import { useUrlState } from "../../url-state.ts";
import { DEFAULT_RANGE, RANGES, type TimeRange } from "./range.ts";

export function RangeLinks({ range }: { readonly range: TimeRange }) {
  const state = useUrlState();
  const [path] = useLocation();
  const zone = useZone();
  return (
    <>
      <span className="segments" role="group" aria-label="Range of time">
        {Object.entries(RANGES).map(([name, { label }]) => (
          <Link
            key={name}
            href={path + state.with({ range: name === DEFAULT_RANGE ? null : name, from: null, to: null, open: null })}
            aria-current={range.name === name ? "true" : undefined}
          >
            {label}
          </Link>
        ))}
      </span>
      {range.toMs !== null && (
        <span>
          {dayAndTime(range.fromMs, zone)} – {dayAndTime(range.toMs, zone)}
        </span>
      )}
    </>
  );
}
