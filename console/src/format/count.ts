// Counts as people read them.
export function wholeCount(count: number): string {
  return new Intl.NumberFormat("en").format(count);
}

/** At most four characters for narrow columns, such as `30.1K`. */
export function shortCount(count: number): string {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(count);
}
