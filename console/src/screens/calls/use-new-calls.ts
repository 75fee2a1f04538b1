// The calls that have ended since the list was read. They do not move the list: they are counted until the reader asks for them, or flow in where
// the list is live and its top is what the reader looks at.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { type ApiError } from "../../api/api.ts";
import type { LoggedCall, LogPage } from "../../api/types.ts";
import { useApi } from "../../api/use-api.tsx";
import { useLive } from "../../live/use-live.ts";
import { MOST_NEW, newestFirst, NOTHING, withBatch } from "./rows.ts";

const EVERY_MS = 10_000;
/** While the list is live: for calls that reached the database too late for the stream. */
const SELDOM_MS = 60_000;
/** While the list is live and filtered, each event leads to a request, but not more often. */
const LIVE_EVERY_MS = 1000;

export interface NewCallsQuery {
  /** Has the filter only. */
  readonly path: string;
  readonly hasFilter: boolean;
  /** What the list shows. */
  readonly rows: readonly LoggedCall[];
  /** When the list was read. */
  readonly asOfMs: number;
  /** The list reaches up to the present. */
  readonly isOn: boolean;
  readonly isLive: boolean;
}

export function useNewCalls({ path, hasFilter, rows, asOfMs, isOn, isLive }: NewCallsQuery) {
  const api = useApi();
  const queries = useQueryClient();
  // the gateway's own time, which the browser's may differ from
  const from = useMemo(
    () => new Date(rows.length === 0 ? asOfMs : Math.max(...rows.map(endOf))).toISOString(),
    [rows, asOfMs],
  );
  const { data: asked, refetch } = useQuery<LogPage, ApiError>({
    queryKey: ["new", path, from],
    queryFn: ({ signal }) =>
      api.send<LogPage>("GET", `${path}&order=ended&ended_from=${encodeURIComponent(from)}&limit=${MOST_NEW}`, {
        signal,
      }),
    refetchInterval: isLive ? SELDOM_MS : EVERY_MS,
    enabled: isOn,
    initialData: NOTHING,
    // each list that has grown asks anew
    gcTime: 0,
  });
  const streamedKey = ["streamed", path, from] as const;
  const { data: streamed } = useQuery<LogPage>({
    queryKey: streamedKey,
    queryFn: () => NOTHING,
    enabled: false,
    initialData: NOTHING,
    gcTime: 0,
  });
  const readSoon = useThrottled(() => void refetch());
  const live = useLive(isOn && isLive, (batch) => {
    if (hasFilter) readSoon();
    else queries.setQueryData<LogPage>(streamedKey, (before = NOTHING) => withBatch(before, batch));
  });
  useEffect(() => {
    // what has ended between the list and the stream
    if (live === "open") readSoon();
  }, [live, readSoon]);
  return useMemo(() => {
    const shown = new Set(rows.map(({ trace_id }) => trace_id));
    const all = [...asked.data, ...streamed.data].filter(({ trace_id }) => !shown.has(trace_id));
    const fresh = new Map(all.map((call) => [call.trace_id, call]));
    return {
      /** The newest first. */
      fresh: newestFirst([...fresh.values()]),
      tokenNames: { ...asked.token_names, ...streamed.token_names },
      /** There are more, so that the list has to be read anew. */
      isMore: asked.next_cursor !== null || streamed.next_cursor !== null || fresh.size > MOST_NEW,
      live,
    };
  }, [rows, asked, streamed, live]);
}

const endOf = ({ at, total_ms: totalMs }: LoggedCall): number => Math.ceil(Date.parse(at) + totalMs);

/** Runs at once, and then not before the time is over. */
function useThrottled(run: () => void): () => void {
  const latest = useRef(run);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const isWanted = useRef(false);
  useEffect(() => {
    latest.current = run;
  });
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );
  return useCallback(() => {
    isWanted.current = true;
    const next = (): void => {
      timer.current = null;
      if (!isWanted.current) return;
      isWanted.current = false;
      latest.current();
      timer.current = setTimeout(next, LIVE_EVERY_MS);
    };
    if (timer.current === null) next();
  }, []);
}
