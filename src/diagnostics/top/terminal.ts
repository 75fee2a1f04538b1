// A terminal that shows one screen after another in the same place.
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
import type { Line, Paint } from "./screen.ts";

export interface TerminalEvents {
  /** Called on q, Ctrl-C, or a signal. */
  readonly onEnd: () => void;
  readonly onResize: () => void;
}

const CODES: Readonly<Record<Paint, string>> = {
  head: "\x1b[1m",
  title: "\x1b[2m",
  bad: "\x1b[31m",
  warn: "\x1b[33m",
  plain: "",
};
/** q, Q, Ctrl-C, Ctrl-D. */
const END_KEYS: ReadonlySet<number> = new Set([0x71, 0x51, 3, 4]);
/** Switches to the alternate screen without a cursor, and back. */
const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
/** Terminals that support these marks show the text between them at once. */
const [BEGIN, END] = ["\x1b[?2026h\x1b[H", "\x1b[J\x1b[?2026l"];

export function openTerminal({ onEnd, onResize }: TerminalEvents, hasColour: boolean) {
  const { stdin, stdout } = process;
  const onKey = (keys: Buffer): void => {
    if ([...keys].some((key) => END_KEYS.has(key))) onEnd();
  };
  const restore = (): void => void stdout.write(LEAVE);
  if (stdin.isTTY) {
    stdin.setRawMode(true);
    stdin.resume();
    stdin.on("data", onKey);
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onEnd);
  stdout.on("resize", onResize);
  process.on("exit", restore);
  stdout.write(ENTER);
  return {
    // Some terminals, such as those of containers, report no size.
    size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
    /** Writes each screen at once and clears nothing that is written again, so that the terminal does not flicker. */
    show(lines: readonly Line[]): void {
      stdout.write(`${BEGIN}${lines.map((line) => `${painted(line, hasColour)}\x1b[K`).join("\r\n")}${END}`);
    },
    /** Restores the terminal. */
    close(): void {
      process.removeListener("exit", restore);
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.removeListener(signal, onEnd);
      stdout.removeListener("resize", onResize);
      if (stdin.isTTY) {
        stdin.removeListener("data", onKey);
        stdin.setRawMode(false);
        stdin.pause();
      }
      restore();
    },
  };
}

function painted(line: Line, hasColour: boolean): string {
  return line
    .map(({ text, paint }) => (hasColour && CODES[paint] !== "" ? `${CODES[paint]}${text}\x1b[0m` : text))
    .join("");
}
