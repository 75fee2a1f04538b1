// The calls of the list in pages.
import { useMemo } from "react";
import { usePages } from "../../api/use-pages.ts";
import type { LogPage } from "../../api/types.ts";

const PAGE_ROWS = 100;

/** `path` has the filter and the range. */
export function useCalls(path: string) {
  const query = usePages<LogPage>(path, { rows: PAGE_ROWS, refetchOnWindowFocus: false, staleTime: 60_000 });
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
