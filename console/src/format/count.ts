// Counts as people read them.
const WHOLE = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function wholeCount(count: number): string {
  return WHOLE.format(count);
}

/** For narrow columns, with at most one digit behind the point, such as `30.1K`. */
export function shortCount(count: number): string {
  return SHORT.format(count);
}

/** Of a share from 0 to 1, such as `7 %` or `0.25 %`. */
export function percentText(share: number): string {
  return `${Number((share * 100).toPrecision(6))} %`;
}

/** Returns `1 call`, `2 calls`, `1,200 calls`. `many` is the plural where it is not the noun with an `s`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${wholeCount(count)} ${count === 1 ? one : many}`;
}
