// What a chart says where it begins later than its range, because there were no calls before, or none that is counted.
import type { CallHistogram } from "../api/types.ts";
import { dayAndMinute } from "../format/time.ts";
import { useUrlState } from "../url-state.ts";
import { useZone } from "../use-zone.ts";

const WHOLE = "whole";

/** The parameter of the histogram, with what the reader has chosen. */
export function useNarrowing(): string {
  return useUrlState().get(WHOLE) === null ? "&narrow=true" : "";
}

export function Narrowed({ histogram, fromMs }: { readonly histogram: CallHistogram; readonly fromMs: number }) {
  const state = useUrlState();
  const zone = useZone();
  const beginMs = Date.parse(histogram.data[0]?.at ?? "");
  if (state.get(WHOLE) !== null)
    return (
      <button type="button" className="quiet" onClick={() => state.set({ [WHOLE]: null })}>
        Show only the time with calls
      </button>
    );
  if (!(beginMs > fromMs)) return null;
  return (
    <>
      {" "}
      The chart begins at {dayAndMinute(beginMs, zone)}
      {histogram.looked_to === null && ": there were no calls before in this range"}.{" "}
      <button type="button" className="quiet" onClick={() => state.set({ [WHOLE]: "1" })}>
        Show the whole range
      </button>
    </>
  );
}
