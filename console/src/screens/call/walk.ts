// The filtered list around the open call, through which `j` and `k` go: the rows of the list that led here, and further ones as they are
// reached. The page before and the page behind are read ahead.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect } from "react";
import { useApi } from "../../api/use-api.tsx";
import type { LoggedCall, LogPage } from "../../api/types.ts";
import { adminPath } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { useUrlState } from "../../url-state.ts";
import { parametersOf, parseFilter } from "../calls/filter.ts";
import { detailPath } from "./use-call.ts";

const PAGE_ROWS = 50;
/** Who goes on at once need not wait for pages that nobody looks at. */
const AHEAD_AFTER_MS = 150;

/** The newest first, without a gap. */
type Rows = readonly LoggedCall[];

export const walkKey = (listPath: string) => ["walk", listPath] as const;

/** The list of the filter that stands in the URL, in any range. */
export function useListPath(): string {
  const filter = parametersOf(parseFilter(useUrlState().get("q") ?? ""));
  return `${adminPath(useScope(), "/logs")}?${filter.toString()}`;
}

/** Resolves to the id of the next older (1) or newer (-1) call; null at the end of the list. */
export function useWalk(call: LoggedCall | undefined): (by: 1 | -1) => Promise<string | null> {
  const api = useApi();
  const queries = useQueryClient();
  const scope = useScope();
  const path = useListPath();
  const id = call?.trace_id;
  useEffect(() => {
    if (id === undefined) return undefined;
    const timer = setTimeout(() => {
      const rows = queries.getQueryData<Rows>(walkKey(path)) ?? [];
      const at = rows.findIndex(({ trace_id }) => trace_id === id);
      for (const near of at < 0 ? [] : [rows[at - 1], rows[at + 1]]) {
        if (near === undefined) continue;
        const ahead = detailPath(scope, near.trace_id, true);
        // what fails here is asked again, and shown, by the page that needs it
        queries
          .query({ queryKey: ["read", ahead], queryFn: ({ signal }) => api.send("GET", ahead, { signal }) })
          .catch(() => {});
      }
    }, AHEAD_AFTER_MS);
    return () => clearTimeout(timer);
  }, [id, path, scope, queries, api]);
  return useCallback(
    async (by) => {
      if (call === undefined) return null;
      const known = queries.getQueryData<Rows>(walkKey(path)) ?? [];
      const rows = known.some(({ trace_id }) => trace_id === call.trace_id) ? known : [call];
      const next = nextIn(rows, call.trace_id, by);
      if (next !== null) return next;
      const edge = by > 0 ? rows.at(-1)! : rows[0]!;
      const atMs = Date.parse(edge.at);
      const bound = by > 0 ? `order=newest&to=${iso(atMs + 1)}` : `order=oldest&from=${iso(atMs)}`;
      const { data } = await api.send<LogPage>("GET", `${path}&${bound}&limit=${PAGE_ROWS}`);
      const more = behind(data, edge);
      const grown = by > 0 ? [...rows, ...more] : [...more.toReversed(), ...rows];
      queries.setQueryData<Rows>(walkKey(path), grown);
      return nextIn(grown, call.trace_id, by);
    },
    [api, call, path, queries],
  );
}

function nextIn(rows: Rows, id: string, by: 1 | -1): string | null {
  return rows[rows.findIndex(({ trace_id }) => trace_id === id) + by]?.trace_id ?? null;
}

/** What follows the edge in a page that begins at its time, where other calls may have arrived too. */
function behind(page: Rows, { trace_id: id, at }: LoggedCall): Rows {
  const edge = page.findIndex(({ trace_id }) => trace_id === id);
  return edge >= 0 ? page.slice(edge + 1) : page.filter((call) => call.at !== at);
}

const iso = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());
