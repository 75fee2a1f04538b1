// A button that opens a panel below itself: the browser's popover, which closes with Escape and with a click elsewhere.
import { type ReactNode, useId, useRef } from "react";

interface MenuProps {
  readonly label: ReactNode;
  /** Read out in place of the label where that is a picture. */
  readonly name?: string;
  readonly className?: string;
  readonly side?: "start" | "end";
  readonly children: (close: () => void) => ReactNode;
}

export function Menu({ label, name, className = "", side = "start", children }: MenuProps) {
  const id = useId();
  const panel = useRef<HTMLDivElement>(null);
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
      <div id={id} ref={panel} popover="auto" className={`menu menu-${side}`}>
        {children(() => panel.current?.hidePopover())}
      </div>
    </>
  );
}
