// The calls of the list in pages, and how many have come since. New calls do not move the list: they are counted until the reader asks for them.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type ApiError } from "../../api/api.ts";
import { useApi } from "../../api/use-api.tsx";
import type { LoggedCall, LogPage } from "../../api/types.ts";

/** More are not kept in the page: one narrows the range instead. */
export const MOST_ROWS = 2000;
const PAGE_ROWS = 100;
const NEW_EVERY_MS = 10_000;

/** `path` has the filter and the range. */
export function useCalls(path: string) {
  const api = useApi();
  const query = useInfiniteQuery<
    LogPage,
    ApiError,
    { readonly pages: readonly LogPage[] },
    readonly unknown[],
    string | null
  >({
    queryKey: ["read", path, "pages"],
    queryFn: ({ pageParam, signal }) =>
      api.send<LogPage>(
        "GET",
        `${path}&limit=${PAGE_ROWS}${pageParam === null ? "" : `&cursor=${encodeURIComponent(pageParam)}`}`,
        { signal },
      ),
    initialPageParam: null,
    getNextPageParam: (last) => last.next_cursor,
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });
  const pages = query.data?.pages;
  const shown = useMemo(
    () => ({
      rows: pages?.flatMap(({ data }) => data) ?? [],
      tokenNames: Object.assign({}, ...(pages ?? []).map(({ token_names: names }) => names)) as LogPage["token_names"],
      lookedTo: pages?.at(-1)?.looked_to ?? null,
    }),
    [pages],
  );
  return { query, ...shown };
}

/** `path` has the filter only; `newest` is the first row of the list. */
export function useNewCalls(path: string, newest: LoggedCall | undefined, sinceMs: number, isOn: boolean): number {
  const api = useApi();
  const from = newest?.at ?? new Date(sinceMs).toISOString();
  const { data } = useQuery<LogPage, ApiError>({
    queryKey: ["new", path, from],
    queryFn: ({ signal }) =>
      api.send<LogPage>("GET", `${path}&from=${encodeURIComponent(from)}&limit=${PAGE_ROWS}`, { signal }),
    refetchInterval: NEW_EVERY_MS,
    enabled: isOn,
    initialData: { data: [], next_cursor: null, looked_to: null, token_names: {} },
  });
  return data.data.filter(({ trace_id }) => trace_id !== newest?.trace_id).length;
}
