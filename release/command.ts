// Other programs that a release needs, run to their end.

/** Returns what the program printed. Throws with what it complained of when it fails. */
export async function run(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, told, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${told.trim()}`);
  return out.trim();
}
