// The reader's own draft of an object: read once, saved on each pause in typing, and removed when it is published or discarded.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import type { Draft } from "../api/types.ts";
import { useApi } from "../api/use-api.tsx";

export type DraftState = "none" | "saving" | "saved" | "unsaved";

const PAUSE_MS = 800;

/** `text` is null while there is nothing to keep, and `path` where the reader may not keep anything. */
export function useSavedDraft(
  path: string | null,
  text: string | null,
  base: string | null,
  /** What is kept already. */
  first: string | null,
): DraftState {
  const api = useApi();
  const queries = useQueryClient();
  const [state, setState] = useState<DraftState>("none");
  /** Undefined while it is not known whether the last request has arrived. */
  const kept = useRef<string | null | undefined>(first);
  const wanted = useRef({ path, text, base });
  /** One request follows the other, so that what was wanted last also arrives last. */
  const requests = useRef(Promise.resolve());
  const keep = useCallback((): void => {
    const save = async (): Promise<void> => {
      const draft = wanted.current;
      if (draft.path === null || draft.text === kept.current) return;
      setState("saving");
      kept.current = undefined;
      try {
        if (draft.text === null) await api.send("DELETE", `${draft.path}/draft`);
        else await api.send("PUT", `${draft.path}/draft`, { body: { text: draft.text, base_etag: draft.base } });
        kept.current = draft.text;
        // the next visit of this page and of the list reads what is kept now
        void queries.invalidateQueries({ queryKey: ["read"], refetchType: "none" });
        setState(draft.text === null ? "none" : "saved");
      } catch {
        setState("unsaved");
      }
    };
    requests.current = requests.current.then(save);
  }, [api, queries]);
  useEffect(() => {
    wanted.current = { path, text, base };
  }, [path, text, base]);
  useEffect(() => {
    // what was published or discarded is removed at once
    const timer = setTimeout(keep, text === null ? 0 : PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, keep]);
  // what was typed last is kept when the page is left before the pause
  useEffect(() => keep, [keep]);
  return state;
}

/** The version in an ETag, such as 3 of `"3.k2f"`. */
const versionIn = (etag: string | null): number => Number(/^"(\d+)\./.exec(etag ?? "")?.[1] ?? Number.NaN);

/** How many versions somebody else has published since the draft was begun. */
export function publishedSince({ base_etag: base, current_etag: current }: Draft): number {
  return base === current ? 0 : Math.max(0, versionIn(current) - versionIn(base) || 0);
}
