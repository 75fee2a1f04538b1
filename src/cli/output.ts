// What the command line prints: lines, tables and JSON to standard output, errors to standard error. Much of it was written by others, such as tool servers: what
// would steer the terminal is printed as its code, which reads the same in JSON.

/** A reader that has seen enough, such as `head`, is no error. */
export function endQuietlyWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

/** Controls but for tab and line feed, and the marks that turn the direction of a text. */
// eslint-disable-next-line no-control-regex
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const BREAKS = /[\t\n]/g;

function coded(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export function printable(text: string): string {
  return text.replaceAll(STEERING, coded);
}

export function printLine(line: string): void {
  process.stdout.write(`${printable(line)}\n`);
}

export function printError(message: string): void {
  process.stderr.write(`dragoman: ${printable(message)}\n`);
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
}

/** Columns lined up, the header first. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [header, ...rows].map((row) => row.map((cell) => printable(cell).replaceAll(BREAKS, coded)));
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  for (const row of all)
    printLine(row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column]!))).join("  "));
}
