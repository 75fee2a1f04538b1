// The calls of the list in pages.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type ApiError } from "../../api/api.ts";
import { useApi } from "../../api/use-api.tsx";
import type { LogPage } from "../../api/types.ts";

const PAGE_ROWS = 100;

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
