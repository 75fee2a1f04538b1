// Switches the list live: new calls come over a stream, and flow in where the top of the list is looked at.
import { useMemo } from "react";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";
import type { LiveState } from "../../live/use-live.ts";
import { useUrlState } from "../../url-state.ts";

export function LiveButton({ state: live }: { readonly state: LiveState }) {
  const state = useUrlState();
  const isLive = state.get("live") !== null;
  const bindings = useMemo<readonly Binding[]>(
    () => [
      {
        keys: "l",
        label: "Follow new calls live, or stop it",
        run: () => state.set({ live: isLive ? null : "1" }, { replace: true }),
      },
    ],
    [state, isLive],
  );
  useKeys(bindings);
  return (
    <button
      type="button"
      className={`live ${live}`}
      aria-pressed={isLive}
      title="l"
      onClick={() => state.set({ live: isLive ? null : "1" }, { replace: true })}
    >
      {live === "waiting" ? "Live, connecting again" : "Live"}
    </button>
  );
}
