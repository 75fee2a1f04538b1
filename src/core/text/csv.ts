// Lines of CSV (RFC 4180) in which no text can be taken for a formula by a spreadsheet, because callers choose the names.
// https://owasp.org/www-community/attacks/CSV_Injection
import type { Json } from "../json.ts";

/** An absent value is an empty cell. */
export function cellText(value: Json | undefined): string {
  return value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

/** `isFigure` says at which places the gateway's own figures stand, which may be below 0. */
export function csvLine(cells: readonly string[], isFigure: (at: number) => boolean = () => false): string {
  return `${cells.map((text, at) => quoted(isFigure(at) ? text : harmless(text))).join(",")}\r\n`;
}

/** Text that a spreadsheet would take for a formula is prefixed with an apostrophe. */
function harmless(text: string): string {
  return /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function quoted(text: string): string {
  return /["',\r\n\s]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
