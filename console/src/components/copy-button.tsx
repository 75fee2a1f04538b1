// Copies a text, and says that it did.
import { useEffect, useState } from "react";

interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
  readonly copied?: (() => void) | undefined;
}

const SAID_MS = 2000;

export function CopyButton({ text, label, copied }: CopyButtonProps) {
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready");
  useEffect(() => {
    if (state === "ready") return undefined;
    const timer = setTimeout(() => setState("ready"), SAID_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async (): Promise<void> => {
    const done = await copyText(text);
    setState(done ? "copied" : "failed");
    if (done) copied?.();
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {state === "copied" ? "Copied" : state === "failed" ? "This browser does not copy here" : label}
      <span className="unseen" role="status">
        {state === "copied" ? "Copied" : ""}
      </span>
    </button>
  );
}

/** Browsers offer the clipboard on https and loopback only. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
