// Five figures of the last day, each with that of a week before and a link to what it sums.
import type { ReactNode } from "react";
import type { UsageTotals } from "../../api/types.ts";
import { MoneyText } from "../../components/money-text.tsx";
import { counted, shortCount, wholeCount } from "../../format/count.ts";
import { nanoUsd, shortUsd } from "../../format/money.ts";
import { duration } from "../../format/time.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { Fact } from "../../components/facts.tsx";
import { summedPath } from "../calls/calls-path.ts";

type Totals = UsageTotals;

interface WeekFiguresProps {
  readonly today: Totals;
  /** Null where it is not known; said once, and not here, where there were no calls. */
  readonly before: Totals | null;
  /** What today's sums are of. */
  readonly range: { readonly from: string; readonly to: string };
}

export function WeekFigures({ today, before, range }: WeekFiguresProps) {
  const link = (screen: string, further: Readonly<Record<string, string>> = {}): string =>
    `${screen}?${new URLSearchParams({ ...further, ...range }).toString()}`;
  const then = (text: (totals: Totals) => string): string | null =>
    before === null || before.calls === 0 ? null : `${text(before)} a week before`;
  return (
    <dl className="figures">
      <Figure
        name="Cost"
        link={link("/usage")}
        then={then(costOf)}
        note={
          today.unpriced > 0 ? `without ${counted(today.unpriced, "call that has", "calls that have")} no price` : null
        }
      >
        <MoneyText usd={today.cost_usd} />
      </Figure>
      <Figure name="Calls" link={summedPath([], range)} then={then(({ calls }) => wholeCount(calls))}>
        {wholeCount(today.calls)}
      </Figure>
      <Figure name="Failed" link={summedPath(["outcome:failed"], range)} then={then(failedOf)}>
        {failedOf(today)}
      </Figure>
      <Figure
        name="Tokens in and out"
        link={link("/usage", { by: "model" })}
        then={then(
          ({ prompt_tokens, completion_tokens }) => `${shortCount(prompt_tokens)} → ${shortCount(completion_tokens)}`,
        )}
      >
        <span title={`${wholeCount(today.prompt_tokens)} → ${wholeCount(today.completion_tokens)}`}>
          {shortCount(today.prompt_tokens)} → {shortCount(today.completion_tokens)}
        </span>
      </Figure>
      <Figure name="Median time" link={link("/usage", { by: "route" })} then={then(medianOf)}>
        {medianOf(today)}
      </Figure>
    </dl>
  );
}

interface FigureProps {
  readonly name: string;
  readonly link: string;
  readonly then: string | null;
  readonly note?: string | null;
  readonly children: ReactNode;
}

function Figure({ name, link, then, note = null, children }: FigureProps) {
  return (
    <Fact name={name}>
      <ScopedLink to={link}>{children}</ScopedLink>
      {then !== null && <small>{then}</small>}
      {note !== null && <small>{note}</small>}
    </Fact>
  );
}

const costOf = ({ cost_usd }: Totals): string => shortUsd(nanoUsd(cost_usd) ?? 0n);
const medianOf = ({ p50_ms }: Totals): string => (p50_ms === null ? "–" : `~${duration(p50_ms)}`);

/** Such as `12 (0.4 %)`. */
function failedOf({ calls, errors }: Totals): string {
  if (errors === 0) return "none";
  const share = (errors / calls) * 100;
  return `${wholeCount(errors)} (${share >= 10 ? Math.round(share) : Number(share.toPrecision(2))} %)`;
}
