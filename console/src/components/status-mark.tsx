// States in a word, with a mark beside the colour.
import type { ReactNode } from "react";
import type { LoggedCall } from "../api/types.ts";

const MARKS = { good: "✓", warn: "!", bad: "✕", idle: "–" } as const;
export type Tone = keyof typeof MARKS;

interface StatusProps {
  readonly tone: Tone;
  /** Where it is not the usual one of the tone. */
  readonly mark?: string | undefined;
  readonly title?: string;
  readonly children: ReactNode;
}

export function Status({ tone, mark = MARKS[tone], title, children }: StatusProps) {
  return (
    <span className={`status ${tone}`} data-mark={mark} title={title}>
      {children}
    </span>
  );
}

/** What became of a call. */
function stateOf({ status, code, cancelled, settled }: Pick<LoggedCall, "status" | "code" | "cancelled" | "settled">): {
  readonly tone: Tone;
  readonly mark?: string;
  readonly word: string;
} {
  if (!settled) return { tone: "bad", mark: "!", word: "Gateway ended" };
  if (cancelled) return { tone: "idle", word: "Client left" };
  if (status < 400) return { tone: "good", word: code ?? "OK" };
  return { tone: status < 500 ? "warn" : "bad", word: code ?? "Failed" };
}

export function StatusMark({ call }: { readonly call: Pick<LoggedCall, "status" | "code" | "cancelled" | "settled"> }) {
  const { tone, mark, word } = stateOf(call);
  return (
    <Status tone={tone} mark={mark} title={`${call.status} ${word}`}>
      {call.status} {word}
    </Status>
  );
}
