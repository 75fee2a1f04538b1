// `/calls`: the calls of the scope, newest first, with filter, range, and one of them open beside the list.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import type { LoggedCall } from "../../api/types.ts";
import { useClock } from "../../clock.ts";
import { AsCode } from "../../components/as-code.tsx";
import { Empty } from "../../components/empty.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath, pathIn } from "../../scope/scope.ts";
import { useUrlState } from "../../url-state.ts";
import { useDefaultView } from "../../views/use-default-view.ts";
import { ViewsMenu } from "../../views/views-menu.tsx";
import { CallPeek } from "../call/call-peek.tsx";
import { useListPath, walkKey } from "../call/walk.ts";
import { CallsTable } from "./calls-table.tsx";
import { FacetRail } from "./facet-rail.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { parametersOf, parseFilter, withoutTerm } from "./filter.ts";
import { RangeLinks } from "./range-links.tsx";
import { DEFAULT_RANGE, rangeOf, RANGES } from "./range.ts";
import { VolumeChart } from "./volume-chart.tsx";
import { LiveButton } from "./live-button.tsx";
import { useListKeys } from "./list-keys.ts";
import { MOST_ROWS } from "./rows.ts";
import { useCalls } from "./use-calls.ts";
import { useFlow } from "./use-flow.ts";
import { Unread } from "../../components/unread.tsx";

export function CallsScreen() {
  const scope = useScope();
  const state = useUrlState();
  useDefaultView("calls");
  const [, navigate] = useLocation();
  const clock = useClock();
  const [asOfMs, setAsOfMs] = useState(clock);
  const range = rangeOf(state.get, asOfMs);
  const terms = parseFilter(state.get("q") ?? "");
  const filter = parametersOf(terms);
  const base = useListPath();
  const span = `from=${iso(range.fromMs)}${range.toMs === null ? "" : `&to=${iso(range.toMs)}`}`;
  const path = `${base}&${span}`;
  const { query, rows: read, lookedTo, tokenNames: namesRead } = useCalls(path);
  const { rows, tokenNames, fresh, isMore, show, live } = useFlow({
    path,
    base,
    read,
    namesRead,
    asOfMs,
    hasFilter: terms.length > 0,
    isOn: query.isSuccess && range.toMs === null,
    isLive: state.get("live") !== null,
    isReading: state.get("open") !== null,
    readAnew: () => setAsOfMs(clock()),
  });
  const queries = useQueryClient();
  const context = state.with({ open: null });
  useEffect(() => {
    // its pages go on through the same rows
    if (rows.length > 0) queries.setQueryData(walkKey(base), rows);
  }, [queries, base, rows]);
  const openId = state.get("open");
  const open = ({ trace_id }: LoggedCall): void => {
    if (isWide()) state.set({ open: trace_id });
    else navigate(pathIn(scope, `/calls/${trace_id}${context}`));
  };
  const close = (): void => state.set({ open: null });
  useListKeys(rows, openId, { open, close, isOpen: openId !== null, more: () => void query.fetchNextPage() });
  return (
    <>
      <div className="title-row">
        <h1>Calls</h1>
        <RangeLinks range={range} />
        <span className="actions">
          {range.toMs === null && <LiveButton state={live} />}
          <ViewsMenu screen="calls" />
          <AsCode path={path} />
        </span>
      </div>
      <div className="calls-tools">
        <FilterBar />
        <VolumeChart path={`${adminPath(scope, "/calls/histogram")}?${filter.toString()}&${span}`} range={range} />
      </div>
      <div role="status">
        {fresh > 0 && (
          <p className="banner">
            <button type="button" onClick={show}>
              Show {isMore ? "more than 100" : fresh} new {fresh === 1 ? "call" : "calls"}
            </button>
          </p>
        )}
      </div>
      <div className={`calls-layout ${openId === null ? "with-facets" : "with-peek"}`}>
        {openId === null && <FacetRail path={`${adminPath(scope, "/calls/facets")}?${span}&`} terms={terms} />}
        <div className="calls-rows">
          <Unread what="The calls" pending="The list of calls" lines={8} of={query} />
          {rows.length > 0 && (
            <div className={query.isPlaceholderData ? "old" : ""}>
              <CallsTable
                rows={rows}
                tokenNames={tokenNames}
                openId={openId}
                isNarrow={openId !== null}
                context={context}
                open={open}
              />
            </div>
          )}
          {query.isSuccess && rows.length === 0 && lookedTo === null && <NoCalls />}
          {query.isSuccess && (
            <div className="after-table">
              {lookedTo !== null && (
                <span className="searched">
                  {rows.length === 0 && "No call so far matches. "}Searched back to <TimeText at={lookedTo} />.
                </span>
              )}
              {query.hasNextPage && rows.length < MOST_ROWS && (
                <button type="button" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                  {query.isFetchingNextPage
                    ? "Reading…"
                    : lookedTo === null
                      ? "Show older calls"
                      : "Search further back"}
                </button>
              )}
              {query.hasNextPage && rows.length >= MOST_ROWS && (
                <span>{MOST_ROWS} calls are shown. Narrow the range or the filter to see others.</span>
              )}
            </div>
          )}
        </div>
        {openId !== null && <CallPeek id={openId} close={close} />}
      </div>
    </>
  );
}

const iso = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());

function isWide(): boolean {
  return matchMedia("(width >= 64rem)").matches;
}

/** Which of the emptinesses it is, and what ends it. */
function NoCalls() {
  const state = useUrlState();
  const text = state.get("q") ?? "";
  const terms = parseFilter(text);
  const name = state.get("range") ?? DEFAULT_RANGE;
  if (terms.length > 0)
    return (
      <Empty title="No call matches this filter in this range">
        <p className="actions">
          {terms.map((term) => (
            <button key={term.text} type="button" onClick={() => state.set({ q: withoutTerm(text, term.text) })}>
              Remove {visibleText(term.text)}
            </button>
          ))}
        </p>
      </Empty>
    );
  return (
    <Empty title="There are no calls in this range">
      {name === "30d" ? (
        <p>
          Calls appear here when they have ended. <ScopedLink to="/start">Send the first one</ScopedLink>.
        </p>
      ) : (
        <button type="button" onClick={() => state.set({ range: "30d", from: null, to: null })}>
          Look at the last {RANGES["30d"]!.label}
        </button>
      )}
    </Empty>
  );
}
