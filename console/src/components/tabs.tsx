// Tabs of a part of a page. The chosen one is in the URL.
import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";
import { useUrlState } from "../url-state.ts";

export interface Tab {
  readonly name: string;
  readonly label: string;
  /** A short figure behind the label. */
  readonly note?: string | undefined;
}

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly chosen: string;
  readonly choose: (name: string) => void;
  readonly children: ReactNode;
}

/** The name of the chosen tab: the first one, where the URL names none of them. */
export function useTab(tabs: readonly Tab[]): readonly [chosen: string, choose: (name: string) => void] {
  const url = useUrlState();
  const first = tabs[0]!.name;
  const chosen = tabs.find(({ name }) => name === url.get("tab"))?.name ?? first;
  return [chosen, (name) => url.set({ tab: name === first ? null : name }, { replace: true })];
}

export function Tabs({ label, tabs, chosen, choose, children }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex(({ name }) => name === chosen);
    const next = (at + step + tabs.length) % tabs.length;
    choose(tabs[next]!.name);
    list.current!.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div className="tabs">
      {/* oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- the tabs in it take the focus */}
      <div role="tablist" aria-label={label} ref={list} onKeyDown={press}>
        {tabs.map(({ name, label: text, note }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => choose(name)}
          >
            {text}
            {note !== undefined && <small>{note}</small>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`} className="tab-panel">
        {children}
      </div>
    </div>
  );
}
