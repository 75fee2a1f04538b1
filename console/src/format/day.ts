// When a day begins and ends in the chosen zone. Days on which clocks are changed are shorter or longer than 24 hours.
import { momentOf } from "./local-time.ts";
import type { Zone } from "./time.ts";

/** `day` is such as `2026-03-08`. */
export function dayBounds(day: string, zone: Zone): { readonly fromMs: number; readonly toMs: number } {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  const beginning = (after: number): number => momentOf(Date.UTC(year, month - 1, date + after), zone);
  return { fromMs: beginning(0), toMs: beginning(1) };
}
