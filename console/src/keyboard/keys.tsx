// Commands by keyboard: screens and parts register them while they are shown, and one listener runs them. Sequences such as `g c` are written
// with a space, `mod` is Command on Apple's machines and Control elsewhere.
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef } from "react";
import { usePreferences } from "../preferences-context.tsx";

export interface Binding {
  /** As `KeyboardEvent.key`, such as `j`, `g c`, `mod+k` or `Escape`. */
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
}

interface Registry {
  readonly add: (bindings: readonly Binding[]) => () => void;
  /** Those of the innermost part first; of equal keys the innermost only. */
  readonly all: () => readonly Binding[];
}

const KeysContext = createContext<Registry | null>(null);
const SEQUENCE_MS = 1200;

export function KeysProvider({ children }: { readonly children: ReactNode }) {
  const lists = useRef<(readonly Binding[])[]>([]);
  const { preferences } = usePreferences();
  const registry = useMemo<Registry>(
    () => ({
      add(bindings) {
        lists.current = [bindings, ...lists.current];
        return () => {
          lists.current = lists.current.filter((list) => list !== bindings);
        };
      },
      all() {
        const flat = lists.current.flat();
        return flat.filter(({ keys }, index) => flat.findIndex((other) => other.keys === keys) === index);
      },
    }),
    [],
  );
  useEffect(() => {
    let begun = { keys: "", atMs: 0 };
    const listen = (event: KeyboardEvent): void => {
      const key = keyOf(event);
      if (key === null || event.defaultPrevented || event.isComposing) return;
      const isLetter = !key.includes("+") && key.length === 1;
      if (isLetter && (!preferences.letters || isTyping(event.target))) return;
      if (document.querySelector("dialog:modal") !== null) return;
      if (key === "Escape" && isMenuOpen()) return;
      const sequence = event.timeStamp - begun.atMs < SEQUENCE_MS ? `${begun.keys} ${key}` : key;
      const bindings = registry.all();
      const found = bindings.find(({ keys }) => keys === sequence) ?? bindings.find(({ keys }) => keys === key);
      begun = { keys: "", atMs: 0 };
      if (found !== undefined) {
        event.preventDefault();
        found.run();
      } else if (bindings.some(({ keys }) => keys.startsWith(`${key} `))) begun = { keys: key, atMs: event.timeStamp };
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [registry, preferences.letters]);
  return <KeysContext value={registry}>{children}</KeysContext>;
}

function keyOf(event: KeyboardEvent): string | null {
  if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return null;
  if (event.altKey) return null;
  // Shift is part of what a letter or sign is, and so is named with other keys only.
  const shift = event.shiftKey && event.key.length > 1 ? "shift+" : "";
  return event.metaKey || event.ctrlKey ? `mod+${shift}${event.key.toLowerCase()}` : event.key;
}

/** Escape closes an open menu first, which the browser does. */
export const isMenuOpen = (): boolean => document.querySelector(":popover-open") !== null;

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]")
  );
}

/** The bindings hold while the component is shown. Pass the same array until one of them changes (`useMemo`). */
export function useKeys(bindings: readonly Binding[]): void {
  const registry = useContext(KeysContext)!;
  useEffect(() => registry.add(bindings), [registry, bindings]);
}

export function useBindings(): () => readonly Binding[] {
  return useContext(KeysContext)!.all;
}

export function shownKeys(keys: string): readonly string[] {
  const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);
  const names: Readonly<Record<string, string>> = {
    Escape: "Esc",
    Enter: "↵",
    enter: "↵",
    shift: "⇧",
    ArrowDown: "↓",
    ArrowUp: "↑",
  };
  return keys.split(" ").flatMap((key) =>
    key.startsWith("mod+")
      ? [
          isApple ? "⌘" : "Ctrl",
          ...key
            .slice(4)
            .split("+")
            .map((part) => names[part] ?? part.toUpperCase()),
        ]
      : [names[key] ?? key],
  );
}
