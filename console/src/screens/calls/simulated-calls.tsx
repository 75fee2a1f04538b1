// How many recorded calls a simulation has played again, from when to when, with the way to them.
import { TimeText } from "../../components/time-text.tsx";
import { counted } from "../../format/count.ts";
import { CallsLink } from "./calls-link.tsx";
import { summedPath, throughLast } from "./calls-path.ts";

interface SimulatedCallsProps {
  readonly calls: number;
  /** When the first and the last of them began. */
  readonly from: string | null;
  readonly to: string | null;
  /** Terms of the filter, which the calls have in common. */
  readonly terms: readonly string[];
}

export function SimulatedCalls({ calls, from, to, terms }: SimulatedCallsProps) {
  if (from === null || to === null) return <>{counted(calls, "call")}</>;
  return (
    <>
      <CallsLink calls={calls} to={summedPath(terms, throughLast(from, to))} word=" calls" /> from{" "}
      <TimeText at={from} /> to <TimeText at={to} />
    </>
  );
}
