// The list of calls by keyboard.
import { useEffect, useMemo, useRef } from "react";
import type { LoggedCall } from "../../api/types.ts";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";

interface ListActions {
  readonly isOpen: boolean;
  readonly open: (call: LoggedCall) => void;
  readonly close: () => void;
  readonly more: () => void;
}

/** `j` and `k` go through the rows; while a call is open they open the next one. */
export function useListKeys(rows: readonly LoggedCall[], openId: string | null, actions: ListActions): void {
  const latest = useRef({ rows, openId, actions });
  const { isOpen } = actions;
  useEffect(() => {
    latest.current = { rows, openId, actions };
  });
  const bindings = useMemo<readonly Binding[]>(() => {
    const step = (by: number): void => {
      const { rows: all, openId: opened, actions: act } = latest.current;
      const at = focusedRow() ?? all.findIndex(({ trace_id }) => trace_id === opened);
      const next = Math.max(0, at + by);
      const call = all[next];
      if (call === undefined) {
        act.more();
        return;
      }
      document.querySelector<HTMLElement>(`a[data-row="${next}"]`)?.focus();
      if (act.isOpen) act.open(call);
    };
    return [
      { keys: "j", label: "Next call", run: () => step(1) },
      { keys: "k", label: "Previous call", run: () => step(-1) },
      ...(isOpen ? [{ keys: "Escape", label: "Close the call", run: () => latest.current.actions.close() }] : []),
    ];
  }, [isOpen]);
  useKeys(bindings);
}

export function focusedRow(): number | null {
  const row = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["row"] : undefined;
  return row === undefined ? null : Number(row);
}
