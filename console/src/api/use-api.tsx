// Reads of the admin API as hooks: each path is a key of the cache, old data stay while new ones are read, and nothing is retried that
// the gateway has refused.
import { keepPreviousData, QueryClient, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import { type Api, ApiError } from "./api.ts";

export const ApiContext = createContext<Api | null>(null);

export function useApi(): Api {
  return useContext(ApiContext)!;
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5000,
        refetchOnWindowFocus: true,
        retry: (count, error) =>
          count < 2 && error instanceof ApiError && (error.status === null || error.status >= 502),
        placeholderData: keepPreviousData,
      },
    },
  });
}

interface ReadOptions {
  /** Reads again after so many milliseconds while the page is visible. */
  readonly everyMs?: number;
  /** False: nothing of another path is shown while this one is read. */
  readonly keepsPrevious?: boolean;
  /** Who or what it is about, where the path does not say it. */
  readonly headers?: Readonly<Record<string, string>>;
  /** While the answer is 404, asks again after so many milliseconds; null asks once. */
  readonly untilFound?: number | null;
  /** The gateway may need minutes for it: it is read when that is asked for, not when the window is looked at again or after a failure. */
  readonly isLong?: boolean;
}

/** `path` is null while it is not known what to ask. */
export function useRead<T>(
  path: string | null,
  { everyMs, keepsPrevious = true, headers, untilFound = null, isLong = false }: ReadOptions = {},
): UseQueryResult<T, ApiError> {
  const api = useApi();
  return useQuery<T, ApiError>({
    queryKey: headers === undefined ? ["read", path] : ["read", path, headers],
    queryFn: ({ signal }) => api.send<T>("GET", path!, { signal, ...(headers !== undefined && { headers }) }),
    enabled: path !== null,
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
    ...(untilFound !== null && {
      refetchInterval: ({ state }) => (state.error?.status === 404 ? untilFound : false),
    }),
    ...(isLong && { refetchOnWindowFocus: false, refetchOnReconnect: false, retry: false }),
    ...(!keepsPrevious && { placeholderData: () => undefined }),
  });
}
