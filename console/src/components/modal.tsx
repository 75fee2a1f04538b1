// A modal dialog: the browser's own, which keeps the focus and closes with Escape.
import { type ReactNode, type SyntheticEvent, useEffect, useId, useRef } from "react";

interface ModalProps {
  readonly title: string;
  readonly children: ReactNode;
  /** Absent: the dialog stays until its own buttons end it. */
  readonly close?: (() => void) | undefined;
  readonly className?: string;
  /** The title is only read out. */
  readonly hidesTitle?: boolean;
}

export function Modal({ title, children, close, className = "", hidesTitle = false }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const shown = dialog.current!;
    const before = document.activeElement;
    if (!shown.open) shown.showModal();
    return () => {
      shown.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const cancel = (event: SyntheticEvent): void => {
    event.preventDefault();
    close?.();
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      className={`modal ${className}`}
      onCancel={cancel}
      onKeyDown={(event) => {
        // Chromium closes a dialog by the second Escape, whatever its cancel event was answered with.
        if (event.key === "Escape" && close === undefined) event.preventDefault();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) close?.();
      }}
    >
      <div className="modal-body">
        <h2 id={id} className={hidesTitle ? "unseen" : ""}>
          {title}
        </h2>
        {children}
      </div>
    </dialog>
  );
}
