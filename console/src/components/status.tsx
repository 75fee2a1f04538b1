// A state in a word, with a mark beside the colour.
import type { ReactNode } from "react";

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
