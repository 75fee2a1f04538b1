// The pages of the project for tests: fences, tables, links, anchors.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Glob } from "bun";

export const projectFolder = resolve(import.meta.dir, "../..");

export interface Page {
  /** From the project's folder, with slashes. */
  readonly path: string;
  readonly text: string;
}

export function readPage(path: string): Page {
  return { path, text: readFileSync(join(projectFolder, path), "utf8") };
}

/** Every page that is written for people. */
export function allPages(): readonly Page[] {
  const patterns = ["*.md", "docs/**/*.md"];
  return patterns
    .flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: projectFolder })])
    .map((path) => path.replaceAll("\\", "/"))
    .toSorted()
    .map(readPage);
}

export interface Fence {
  /** What stands behind the opening ticks, such as `bash run`. */
  readonly info: string;
  readonly text: string;
  /** Of the opening ticks, from 1. */
  readonly line: number;
}

/** Throws for a fence that does not end. */
export function fencesOf({ path, text }: Page): readonly Fence[] {
  const fences: Fence[] = [];
  let open: { info: string; line: number; lines: string[] } | null = null;
  text.split("\n").forEach((line, index) => {
    if (!line.startsWith("```")) open?.lines.push(line);
    else if (open === null) open = { info: line.slice(3).trim(), line: index + 1, lines: [] };
    else {
      fences.push({ info: open.info, line: open.line, text: open.lines.join("\n") });
      open = null;
    }
  });
  if (open !== null) throw new Error(`${path}: the fence at line ${(open as { line: number }).line} does not end`);
  return fences;
}

/** The text without fences, in which marks mean nothing. */
export function prose({ text }: Page): string {
  return text.replaceAll(/^```[^]*?^```$/gm, "");
}

/** The rows of the first table below a heading, each as its cells; without the head. */
export function tableBelow(page: Page, heading: string): readonly (readonly string[])[] {
  const text = `\n${page.text}`;
  const from = text.indexOf(`\n${heading}\n`);
  if (from < 0) throw new Error(`${page.path} has no heading ${JSON.stringify(heading)}`);
  const lines = text.slice(from).split("\n");
  const start = lines.findIndex((line) => /^\| ?---/.test(line));
  const rows = lines.slice(start + 1);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return rows.slice(0, end < 0 ? undefined : end).map(cellsOf);
}

function cellsOf(row: string): readonly string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** The words that stand in code marks. */
export function codeWords(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word!);
}

/** Targets of links, those in code left out. */
export function linksOf(page: Page): readonly string[] {
  const text = prose(page).replaceAll(/`[^`\n]*`/g, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
}

/** The anchors of a page's headings, as the usual renderers make them. */
export function anchorsOf(page: Page): ReadonlySet<string> {
  return new Set(
    [...prose(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** Rows as lines in an order of their own, to be compared. */
export function sortedRows(rows: readonly (readonly string[])[]): readonly string[] {
  return rows.map((row) => row.join(" | ")).toSorted();
}
