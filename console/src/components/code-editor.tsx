// A text field for code: line numbers beside it, and below it what is wrong with the text, by line.
import { useEffect, useId, useRef } from "react";
import { visibleText } from "../format/visible-text.ts";
import type { TextProblem } from "./text-problem.ts";

interface CodeEditorProps {
  readonly label: string;
  readonly text: string;
  readonly change: (text: string) => void;
  readonly problems?: readonly TextProblem[];
  readonly isReadOnly?: boolean;
}

const LEAST_LINES = 8;
const NO_PROBLEMS: readonly TextProblem[] = [];

export function CodeEditor({ label, text, change, problems = NO_PROBLEMS, isReadOnly = false }: CodeEditorProps) {
  const numbers = useRef<HTMLPreElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const id = useId();
  const lines = text.split("\n").length;
  useEffect(() => {
    const shown = field.current!;
    const follow = (): void => {
      if (numbers.current !== null) numbers.current.scrollTop = shown.scrollTop;
    };
    shown.addEventListener("scroll", follow);
    return () => shown.removeEventListener("scroll", follow);
  }, []);
  const wrong = new Set(problems.map(({ line }) => line));
  const goTo = (line: number): void => {
    const before = text.split("\n").slice(0, line - 1);
    const at = before.reduce((sum, one) => sum + one.length + 1, 0);
    field.current!.focus();
    field.current!.setSelectionRange(at, at + (text.split("\n")[line - 1]?.length ?? 0));
  };
  return (
    <div className="code-editor">
      <div className="code-editor-box">
        <pre ref={numbers} aria-hidden="true">
          {Array.from({ length: lines }, (_, index) => (
            <span key={index} className={wrong.has(index + 1) ? "wrong" : ""}>{`${index + 1}\n`}</span>
          ))}
        </pre>
        <textarea
          ref={field}
          aria-label={label}
          aria-invalid={problems.length > 0}
          aria-describedby={problems.length > 0 ? id : undefined}
          value={text}
          readOnly={isReadOnly}
          rows={Math.max(LEAST_LINES, lines + 1)}
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          onChange={(event) => change(event.target.value)}
        />
      </div>
      <div id={id} role="status">
        <ul className="code-problems">
          {problems.map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              <button type="button" className="quiet" onClick={() => goTo(line)}>
                Line {line}
              </button>
              {visibleText(message)}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
