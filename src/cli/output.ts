// Prints lines, tables and JSON to standard output, and errors to standard error. Some texts come from others, such as
// tool servers: characters that would control the terminal are printed as escapes, which mean the same in JSON.
import { Document, visit } from "yaml";
import { isRawNumber } from "../core/json.ts";

/** A reader that stops early, such as `head`, is not an error. */
export function endQuietlyWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

/** Whether what is printed still goes somewhere: a command that would print for ever ends with its reader. */
export function hasReader(): boolean {
  return process.stdout.writable;
}

/** Control characters except tab and line feed, and marks that change the direction of a text. */
// eslint-disable-next-line no-control-regex
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const BREAKS = /[\t\n]/g;

function coded(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export function printable(text: string): string {
  return text.replaceAll(CONTROL_CHARACTERS, coded);
}

export function printLine(line: string): void {
  process.stdout.write(`${printable(line)}\n`);
}

/** A part of a text whose rest follows. */
export function printText(text: string): void {
  process.stdout.write(printable(text));
}

export function printError(message: string): void {
  process.stderr.write(`dragoman: ${printable(message)}\n`);
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
}

/** Texts with such characters are quoted, so that what is printed in their place means them. */
export function printYaml(value: unknown): void {
  // YAML cannot represent numbers of any length, so these are printed as text.
  const document = new Document(value, (_key, part: unknown) => (isRawNumber(part) ? part.rawJSON : part));
  visit(document, {
    Scalar(_key, scalar) {
      if (typeof scalar.value === "string" && printable(scalar.value) !== scalar.value) scalar.type = "QUOTE_DOUBLE";
    },
  });
  printLine(document.toString().trimEnd());
}

/** Text that its reader may keep, such as a draft: its characters are replaced on a terminal only. */
export function printKept(text: string): void {
  if (process.stdout.isTTY) printLine(text);
  else process.stdout.write(`${text}\n`);
}

/** Prints aligned columns, the header first. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [header, ...rows].map((row) => row.map((cell) => printable(cell).replaceAll(BREAKS, coded)));
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  for (const row of all)
    printLine(row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column]!))).join("  "));
}
