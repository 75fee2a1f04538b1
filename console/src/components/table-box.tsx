// The frame of a table, which scrolls sideways where the window is too narrow, and is then reached by keyboard.
import type { ReactNode } from "react";

export function TableBox({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reached by keyboard
    <div className="table-box" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}
