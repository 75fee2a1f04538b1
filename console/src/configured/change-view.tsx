// A change of a document: in words, and line by line.
import { visibleText } from "../format/visible-text.ts";
import { changeWords } from "./change-words.ts";
import { lineDiff } from "./line-diff.ts";
import type { Fields } from "./merge-patch.ts";
import { writtenYaml } from "./yaml-text.ts";

const NOTHING: readonly string[] = [];

interface ChangeViewProps {
  readonly before: Fields;
  readonly after: Fields;
  /** Shown in place of the written fields, with their comments. */
  readonly text?: string;
  readonly further?: readonly string[];
}

export function ChangeView({ before, after, text, further = NOTHING }: ChangeViewProps) {
  const words = [...further, ...changeWords(before, after)];
  if (words.length === 0) return <p className="hint">Nothing changes.</p>;
  return (
    <div className="change">
      <ul className="change-words">
        {words.map((word) => (
          <li key={word}>{visibleText(word)}</li>
        ))}
      </ul>
      <LineDiff before={writtenYaml(before).text} after={text ?? writtenYaml(after).text} />
    </div>
  );
}

/** What a row of the audit log says. A thing that was made or removed is shown by its lines alone. */
export function AuditedChange({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  if (before === null && after === null) return null;
  const lines = (value: unknown): string => (value === null ? "" : writtenYaml(value).text);
  return before === null || after === null ? (
    <LineDiff before={lines(before)} after={lines(after)} />
  ) : (
    <ChangeView before={before as Fields} after={after as Fields} />
  );
}

const MARKS = { same: " ", removed: "-", added: "+" } as const;

export function LineDiff({ before, after }: { readonly before: string; readonly after: string }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reached by keyboard
    <pre className="code lines" tabIndex={0} aria-label="The change line by line">
      {lineDiff(before, after).map(({ kind, text }, index) => (
        <span key={index} className={kind}>{`${MARKS[kind]} ${visibleText(text)}\n`}</span>
      ))}
    </pre>
  );
}
