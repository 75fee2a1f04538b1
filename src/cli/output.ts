// What the command line prints: lines, tables and JSON to standard output, errors to standard error.

/** A reader that has seen enough, such as `head`, is no error. */
export function endQuietlyWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function printError(message: string): void {
  process.stderr.write(`dragoman: ${message}\n`);
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
}

/** Columns lined up, the header first. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  for (const row of all) printLine(row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column]!))).join("  "));
}
