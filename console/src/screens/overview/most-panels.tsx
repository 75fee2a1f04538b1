// Who and what cost most in the last day, and what most calls failed of. Each line leads to its calls.
import type { ComponentType, ReactNode } from "react";
import type { CallFacets, UsageTotals } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { MoneyText } from "../../components/money-text.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { summedPath, type CallsTime } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";
import { costShares } from "./cost-shares.ts";
import { causeWords } from "./failure-words.ts";
import { Panel } from "../../components/panel.tsx";

interface MostProps {
  /** Of the scope and the last day, by cost and with causes. */
  readonly path: string;
  readonly totals: UsageTotals;
  readonly time: CallsTime;
}

export function MostPanels({ path, totals, time }: MostProps) {
  const { data, error, refetch } = useRead<CallFacets>(path);
  if (error !== null && data === undefined)
    return <Problem what="What costs and fails most could not be read." error={error} retry={() => void refetch()} />;
  const panel = (id: string, title: string, List: ComponentType<ListProps>): ReactNode => (
    <Panel id={id} title={title} note="in the last 24 hours">
      {data === undefined ? <Pending what={title} /> : <List facets={data} totals={totals} time={time} />}
    </Panel>
  );
  return (
    <>
      {totals.errors > 0 && panel("fails-most", "What fails most", FailsMost)}
      {panel("costs-most", "What costs most", CostsMost)}
    </>
  );
}

interface ListProps extends Omit<MostProps, "path"> {
  readonly facets: CallFacets;
}

const MOST_CAUSES = 6;

function FailsMost({ facets: { causes, looked_to: lookedTo }, totals, time }: ListProps) {
  return (
    <>
      <ol className="failures">
        {causes.slice(0, MOST_CAUSES).map((cause) => {
          const { count, what, code, terms, page } = causeWords(cause, totals.calls);
          return (
            <li key={JSON.stringify(cause)}>
              <ScopedLink className="count" to={summedPath(terms, time)}>
                {count}
              </ScopedLink>
              <span>
                {page === null ? what : <ScopedLink to={page}>{what}</ScopedLink>} <code>{visibleText(code)}</code>
              </span>
              <small>{cause.status}</small>
            </li>
          );
        })}
      </ol>
      {lookedTo !== null && (
        <p className="hint">
          Only the failed calls since <TimeText at={lookedTo} /> were counted here.
        </p>
      )}
    </>
  );
}

function CostsMost({ facets, totals, time }: ListProps) {
  const scope = useScope();
  const ranked = costShares(facets.data, totals.cost_usd, scope.project !== null);
  if (ranked.length === 0)
    return (
      <p className="hint">
        No call of this time has a cost.{" "}
        {totals.unpriced > 0 && <ScopedLink to="/prices">Set the prices that are missing</ScopedLink>}
      </p>
    );
  return (
    <div className="ranked">
      {ranked.map(({ dimension, title, rows }) => (
        <section key={dimension} aria-label={title}>
          <h3>{title}</h3>
          <ol>
            {rows.map(({ value, costUsd, share }) => (
              <li key={value}>
                <ScopedLink
                  to={summedPath([termText(dimension, value)], time)}
                  title={visibleText(nameOf(facets, dimension, value))}
                >
                  {visibleText(nameOf(facets, dimension, value))}
                </ScopedLink>
                <MoneyText usd={costUsd} />
                <small>{shareText(share)}</small>
              </li>
            ))}
          </ol>
        </section>
      ))}
    </div>
  );
}

function nameOf({ token_names: names }: CallFacets, dimension: string, value: string): string {
  return (dimension === "token" && Object.hasOwn(names, value) ? names[value] : undefined) ?? value;
}

const shareText = (share: number): string => (share < 0.01 ? "< 1 %" : `${Math.round(share * 100)} %`);
