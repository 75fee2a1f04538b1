// What tokens cost at a listed price, in whole numbers: the price of one token has more digits than a nano-dollar.
import { exactUsd } from "../../format/money.ts";

const PLACES = 18;
const NANO_PLACES = 9;

/** Of a decimal text, in units of 10^-18 dollars; null where it is none. */
function scaled(text: string): bigint | null {
  const match = /^(\d+)(?:\.(\d{1,18}))?$/.exec(text);
  return match === null ? null : BigInt(match[1]! + (match[2] ?? "").padEnd(PLACES, "0"));
}

const nanoOf = (units: bigint): bigint => {
  const step = 10n ** BigInt(PLACES - NANO_PLACES);
  return (units + step - 1n) / step;
};

/** The price of a million tokens, of the price of one. */
export function perMillion(perToken: string): string {
  const units = scaled(perToken);
  return units === null ? "an unknown price" : exactUsd(nanoOf(units * 1_000_000n));
}

/** In whole nano-dollars, a fraction rounded up as the ledger does for the sum; null without a price. */
export function costOf(counts: readonly { readonly tokens: number; readonly perToken: string }[]): bigint | null {
  let sum = 0n;
  for (const { tokens, perToken } of counts) {
    const units = scaled(perToken);
    if (units === null) return null;
    sum += BigInt(tokens) * units;
  }
  return nanoOf(sum);
}
