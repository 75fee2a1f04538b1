// A button that opens a panel below itself: the browser's popover, which closes with Escape and with a click elsewhere.
import { type ReactNode, useId, useRef, useState } from "react";

interface MenuProps {
  readonly label: ReactNode;
  /** Read out in place of the label where that is a picture. */
  readonly name?: string;
  readonly className?: string;
  readonly side?: "start" | "end";
  /** What is in the panel is made when it is opened first, because it has something to read. */
  readonly isLazy?: boolean;
  readonly children: (close: () => void) => ReactNode;
}

export function Menu({ label, name, className = "", side = "start", isLazy = false, children }: MenuProps) {
  const id = useId();
  const panel = useRef<HTMLDivElement>(null);
  const [isMade, setIsMade] = useState(!isLazy);
  return (
    <>
      <button
        type="button"
        className={`quiet ${className}`}
        popoverTarget={id}
        {...(name !== undefined && { "aria-label": name })}
      >
        {label}
      </button>
      <div id={id} ref={panel} popover="auto" className={`menu menu-${side}`} onBeforeToggle={() => setIsMade(true)}>
        {isMade && children(() => panel.current?.hidePopover())}
      </div>
    </>
  );
}
