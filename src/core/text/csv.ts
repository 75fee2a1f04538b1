// Lines of CSV (RFC 4180) in which no text can be taken for a formula by a spreadsheet, because callers choose the names.
// https://owasp.org/www-community/attacks/CSV_Injection
import type { Json } from "../json.ts";

/** An absent value is an empty cell. */
export function cellText(value: Json | undefined): string {
  return value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

export function csvLine(cells: readonly string[]): string {
  return `${cells.map(cell).join(",")}\r\n`;
}

/** Text that a spreadsheet would take for a formula is prefixed with an apostrophe. */
function cell(text: string): string {
  const harmless = /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /["',\r\n\s]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
