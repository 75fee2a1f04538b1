// The time of the gateway, as far as it is known: a computer whose clock is wrong would otherwise ask for the calls of another day, or of a time to
// come.
import { createContext, useContext, useMemo } from "react";

/** What the gateway's clock is ahead of the browser's, in milliseconds. */
export const ClockContext = createContext(0);

/** As much as an answer may take on its way says nothing about the clock. */
const LEAST_MS = 10_000;

/** `receivedMs` is the browser's time at which the gateway's was received. */
export function clockOffset(gatewayTime: string, receivedMs: number): number {
  const offsetMs = Date.parse(gatewayTime) - receivedMs;
  return Math.abs(offsetMs) < LEAST_MS ? 0 : offsetMs;
}

/** A function that tells the time, in milliseconds since 1970. */
export function useClock(): () => number {
  const offsetMs = useContext(ClockContext);
  return useMemo(() => () => Date.now() + offsetMs, [offsetMs]);
}
