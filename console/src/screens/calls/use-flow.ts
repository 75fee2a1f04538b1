// The rows of the list as they are shown: those that were read, and above them the new ones that the reader has let in.
import { useEffect, useMemo, useRef, useState } from "react";
import type { LoggedCall } from "../../api/types.ts";
import { focusedRow } from "./list-keys.ts";
import { joinedRows } from "./rows.ts";
import { type NewCallsQuery, useNewCalls } from "./use-new-calls.ts";

interface FlowQuery extends Pick<NewCallsQuery, "asOfMs" | "hasFilter" | "isOn" | "isLive"> {
  readonly path: string;
  readonly base: string;
  readonly read: readonly LoggedCall[];
  readonly namesRead: Readonly<Record<string, string>>;
  /** A call is open beside the list. */
  readonly isReading: boolean;
  readonly readAnew: () => void;
}

/** The rows that were read, and above them those that have been shown since. */
export function useFlow({ path, base, read, namesRead, hasFilter, isReading, readAnew, ...rest }: FlowQuery) {
  const [shown, setShown] = useState<{ readonly path: string; readonly added: readonly LoggedCall[] }>({
    path,
    added: [],
  });
  const [names, setNames] = useState(namesRead);
  const rows = useMemo(
    () => (shown.path === path && shown.added.length > 0 ? joinedRows(shown.added, read) : read),
    [shown, path, read],
  );
  const { fresh, tokenNames, isMore, live } = useNewCalls({ path: base, hasFilter, rows, ...rest });
  const show = (): void => {
    if (isMore) return readAnew();
    setNames({ ...names, ...tokenNames });
    setShown({ path, added: joinedRows(fresh, shown.path === path ? shown.added : []) });
  };
  const latest = useRef(show);
  useEffect(() => {
    latest.current = show;
  });
  useEffect(() => {
    // only a list whose top is looked at flows
    if (fresh.length > 0 && live !== "off" && !isReading && isAtTop()) latest.current();
  }, [fresh, live, isReading]);
  return { rows, tokenNames: { ...namesRead, ...names }, fresh: fresh.length, isMore, show, live };
}

const TOP_PX = 40;

function isAtTop(): boolean {
  return scrollY < TOP_PX && focusedRow() === null && document.querySelector(".calls-rows:hover") === null;
}
