// Sums of money as people read them: exact decimal text of US dollars.
const NANO_DIGITS = 9;

export function usdText(nano: bigint): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(NANO_DIGITS + 1, "0");
  const text = `${digits.slice(0, -NANO_DIGITS)}.${digits.slice(-NANO_DIGITS)}`.replace(/\.?0+$/, "");
  return nano < 0n ? `-${text}` : text;
}
