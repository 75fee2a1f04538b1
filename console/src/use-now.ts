// The present, for figures of the last hours: it moves on in steps, so that a path that contains it stays the same for a while.
import { useEffect, useState } from "react";
import { useClock } from "./clock.ts";

/** The beginning of the present step. */
export function useNow(stepMs: number): number {
  const clock = useClock();
  const [nowMs, setNowMs] = useState(() => stepOf(clock(), stepMs));
  useEffect(() => {
    const timer = setInterval(() => setNowMs(stepOf(clock(), stepMs)), stepMs);
    return () => clearInterval(timer);
  }, [clock, stepMs]);
  return nowMs;
}

const stepOf = (nowMs: number, stepMs: number): number => Math.floor(nowMs / stepMs) * stepMs;
