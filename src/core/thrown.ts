// What was thrown, as text: JavaScript may throw any value.

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The code that Node, SQLite and PostgreSQL give to their errors, such as `ENOENT`; empty when there is none. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
}
