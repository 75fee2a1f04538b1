// What a saved view keeps of the address of a page: not what is open beside a list.
export function savedQuery(search: string): string {
  const query = new URLSearchParams(search);
  query.delete("open");
  return query.toString();
}
