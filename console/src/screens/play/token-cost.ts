// Listed prices, in whole numbers: the price of one token has more digits than a nano-dollar.
import { exactUsd } from "../../format/money.ts";

const PLACES = 18;
const NANO_PLACES = 9;

/** Of a decimal text, in units of 10^-18 dollars; null where it is none. */
function scaled(text: string): bigint | null {
  const match = /^(\d+)(?:\.(\d{1,18}))?$/.exec(text);
  return match === null ? null : BigInt(match[1]! + (match[2] ?? "").padEnd(PLACES, "0"));
}

/** The price of a million tokens, of the price of one; a part of a nano-dollar counts as a whole one. */
export function perMillion(perToken: string): string {
  const units = scaled(perToken);
  if (units === null) return "an unknown price";
  const step = 10n ** BigInt(PLACES - NANO_PLACES);
  return exactUsd((units * 1_000_000n + step - 1n) / step);
}
