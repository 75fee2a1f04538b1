// The command line in a terminal, where it prints what it prints nowhere else.
import { gatewayCommand } from "./gateway-program.ts";
import { cleanEnvironment } from "./gateway-process.ts";

/** Runs a command in a terminal of its own, to its end. */
export async function inTerminal(
  folder: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  let output = "";
  const decoder = new TextDecoder();
  const child = Bun.spawn([...gatewayCommand, ...args], {
    env: cleanEnvironment(),
    cwd: folder,
    terminal: { cols: 400, rows: 50, data: (_, bytes) => void (output += decoder.decode(bytes, { stream: true })) },
  });
  const code = await child.exited;
  child.terminal?.close();
  return { code, output };
}
