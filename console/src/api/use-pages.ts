// A list of the admin API that is read page by page.
import { useInfiniteQuery, type UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ApiError } from "./api.ts";
import { useApi } from "./use-api.tsx";

interface PagesOptions {
  /** Of each page. */
  readonly rows: number;
  readonly refetchOnWindowFocus?: boolean;
  readonly staleTime?: number;
}

/** `path` has a query already. */
export function usePages<Page extends { readonly next_cursor: string | null }>(
  path: string,
  { rows, ...options }: PagesOptions,
): UseInfiniteQueryResult<{ readonly pages: readonly Page[] }, ApiError> {
  const api = useApi();
  return useInfiniteQuery<Page, ApiError, { readonly pages: readonly Page[] }, readonly unknown[], string | null>({
    queryKey: ["read", path, "pages"],
    queryFn: ({ pageParam: cursor, signal }) => {
      const page = new URLSearchParams({ limit: String(rows), ...(cursor !== null && { cursor }) });
      return api.send<Page>("GET", `${path}&${page.toString()}`, { signal });
    },
    initialPageParam: null,
    getNextPageParam: (last) => last.next_cursor,
    ...options,
  });
}
