// A modal dialog: the browser's own, which keeps the focus and closes with Escape and with a click beside it. Where somebody has typed into a form of
// it, it asks for a second Escape or click, so that none of it is lost by mistake.
import { type KeyboardEvent, type ReactNode, type SyntheticEvent, useEffect, useId, useRef, useState } from "react";
import { isMenuOpen } from "../keyboard/keys.tsx";

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
  const [typed, setTyped] = useState<"nothing" | "unsent" | "sent">("nothing");
  const [isAsking, setIsAsking] = useState(false);
  useEffect(() => {
    const shown = dialog.current!;
    const before = document.activeElement;
    if (!shown.open) shown.showModal();
    return () => {
      shown.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const leave = (): void => {
    const hasFailed = dialog.current!.querySelector(".problem") !== null;
    if (!isAsking && (typed === "unsent" || (typed === "sent" && hasFailed))) setIsAsking(true);
    else close?.();
  };
  const cancel = (event: SyntheticEvent): void => {
    event.preventDefault();
    leave();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing || isMenuOpen()) return;
    // Chromium closes a dialog by the second Escape, whatever its cancel event was answered with.
    event.preventDefault();
    leave();
  };
  const note = ({ target }: SyntheticEvent): void => {
    if (!(target instanceof HTMLElement) || target.closest("form") === null) return;
    setTyped("unsent");
    setIsAsking(false);
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      className={`modal ${className}`}
      onCancel={cancel}
      onKeyDown={press}
      onInput={note}
      onSubmit={() => setTyped((before) => (before === "nothing" ? before : "sent"))}
      onClick={(event) => {
        if (event.target === dialog.current) leave();
      }}
    >
      <div className="modal-body">
        <h2 id={id} className={hidesTitle ? "unseen" : ""}>
          {title}
        </h2>
        {children}
        {isAsking && close !== undefined && (
          <p role="alert" className="unsent">
            What you have typed has not been sent. Press Escape or click outside again to close without it.
          </p>
        )}
      </div>
    </dialog>
  );
}
