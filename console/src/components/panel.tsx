// A part of a page in a frame, under its title.
import type { ReactNode } from "react";

interface PanelProps {
  readonly title: string;
  /** Stands beside the title, in small letters. */
  readonly note?: ReactNode;
  /** Of the title, by which the part is then named for those who hear the page. */
  readonly id?: string;
  readonly children: ReactNode;
}

export function Panel({ title, note, id, children }: PanelProps) {
  return (
    <section className="panel" aria-labelledby={id}>
      <h2 id={id}>
        {title}
        {note !== undefined && (
          <>
            {" "}
            <small>{note}</small>
          </>
        )}
      </h2>
      <div className="panel-body">{children}</div>
    </section>
  );
}
