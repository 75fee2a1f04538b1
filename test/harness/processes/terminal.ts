// The command line in a terminal, where it prints what it prints nowhere else.
import { gatewayCommand } from "./gateway-program.ts";
import { cleanEnvironment } from "./gateway-process.ts";

interface Printed {
  readonly code: number;
  readonly output: string;
}

/** Runs a command of the gateway in a terminal of its own, to its end. */
export const inTerminal = (folder: string, args: readonly string[]): Promise<Printed> =>
  printed(folder, [...gatewayCommand, ...args]);

/** Runs what somebody has pasted into a shell. */
export const inShell = (folder: string, line: string): Promise<Printed> => printed(folder, ["bash", "-c", line]);

async function printed(folder: string, command: readonly string[]): Promise<Printed> {
  let output = "";
  const decoder = new TextDecoder();
  const child = Bun.spawn([...command], {
    env: cleanEnvironment(),
    cwd: folder,
    terminal: { cols: 400, rows: 50, data: (_, bytes) => void (output += decoder.decode(bytes, { stream: true })) },
  });
  const code = await child.exited;
  child.terminal?.close();
  return { code, output };
}
