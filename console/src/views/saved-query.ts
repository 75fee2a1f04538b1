// What a saved view keeps of the address of a page, and what a change of one changes.

/** With which views screens begin is told with the reader. */
export const VIEWS = ["read", "me"] as const;

/** Not what is open beside a list. */
export function savedQuery(search: string): string {
  const query = new URLSearchParams(search);
  query.delete("open");
  return query.toString();
}
