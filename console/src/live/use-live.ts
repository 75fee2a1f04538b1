// New calls of the scope while the page is visible and the reader wants them.
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { NewCallsOfPlace } from "../api/types.ts";
import { useScope } from "../scope/scope-context.tsx";
import { useMe } from "../session/session.tsx";
import { joinLive } from "./live-share.ts";

function followVisibility(changed: () => void): () => void {
  document.addEventListener("visibilitychange", changed);
  return () => document.removeEventListener("visibilitychange", changed);
}

/** `off`: not wanted, or the page is hidden. `waiting`: the stream has ended and is opened again. */
export type LiveState = "off" | "open" | "waiting";

export function useLive(isWanted: boolean, take: (batch: NewCallsOfPlace) => void): LiveState {
  const { tenant, project } = useScope();
  const session = useMe().session.id;
  const place = `${tenant ?? "-"}/${project ?? "-"}`;
  const isVisible = useSyncExternalStore(followVisibility, () => document.visibilityState === "visible");
  const [isOpen, setIsOpen] = useState(true);
  const latest = useRef(take);
  useEffect(() => {
    latest.current = take;
  });
  const isOn = isWanted && isVisible;
  useEffect(() => {
    if (!isOn) return undefined;
    return joinLive(place, session, { take: (batch) => latest.current(batch), changed: setIsOpen });
  }, [place, session, isOn]);
  if (!isOn) return "off";
  return isOpen ? "open" : "waiting";
}
