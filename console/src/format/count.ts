// Counts as people read them.
export function wholeCount(count: number): string {
  return new Intl.NumberFormat("en").format(count);
}
