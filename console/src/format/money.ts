// Money in whole nano-dollars, from the text of the API to the text on the screen, without a floating-point number in between.
const NANO = 1_000_000_000n;
const SIGNIFICANT = 2;

/** Parses a decimal text such as `0.0000035`. Returns null when the text is missing or is not an amount. */
export function nanoUsd(text: string | null | undefined): bigint | null {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(text ?? "");
  if (match === null) return null;
  const [, sign, whole, fraction = ""] = match;
  const amount = BigInt(whole!) * NANO + BigInt(fraction.padEnd(9, "0"));
  return sign === "-" ? -amount : amount;
}

/** A decimal text as the API writes it. */
export function usdText(nano: bigint): string {
  const { sign, whole, fraction } = parts(nano);
  return `${sign}${whole}.${fraction}`;
}

/** All digits, without zeros at the end but for cents. */
export function exactUsd(nano: bigint): string {
  const { sign, whole, fraction } = parts(nano);
  const kept = fraction.replace(/0+$/, "").padEnd(2, "0");
  return `${sign}$${grouped(whole)}.${kept}`;
}

/** Rounded to cents, and below a dollar to two significant digits: an amount that is not zero is never shown as zero. */
export function shortUsd(nano: bigint): string {
  if (nano === 0n) return "$0";
  const size = nano < 0n ? -nano : nano;
  const digits = size >= NANO ? 2 : Math.max(2, leadingZeros(size) + SIGNIFICANT);
  const step = 10n ** BigInt(9 - Math.min(9, digits));
  const rounded = ((size + step / 2n) / step) * step;
  const { whole, fraction } = parts(rounded);
  return `${nano < 0n ? "-" : ""}$${grouped(whole)}.${fraction.slice(0, Math.min(9, digits))}`;
}

/** Zeros after the point of an amount below one dollar. */
function leadingZeros(size: bigint): number {
  return 9 - size.toString().length;
}

function parts(nano: bigint): { readonly sign: string; readonly whole: bigint; readonly fraction: string } {
  const size = nano < 0n ? -nano : nano;
  return { sign: nano < 0n ? "-" : "", whole: size / NANO, fraction: (size % NANO).toString().padStart(9, "0") };
}

function grouped(whole: bigint): string {
  return whole.toString().replaceAll(/\B(?=(\d{3})+$)/g, ",");
}
