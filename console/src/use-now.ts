// The present, for figures of the last hours: it moves on in steps, so that a path that contains it stays the same for a while.
import { useEffect, useState } from "react";

const now = (stepMs: number): number => Math.floor(Date.now() / stepMs) * stepMs;

/** The beginning of the present step. */
export function useNow(stepMs: number): number {
  const [nowMs, setNowMs] = useState(() => now(stepMs));
  useEffect(() => {
    const timer = setInterval(() => setNowMs(now(stepMs)), stepMs);
    return () => clearInterval(timer);
  }, [stepMs]);
  return nowMs;
}
