// Runs a command of the gateway again and again, killed at a random moment each time, until it has ended by itself.
import { gatewayCommand } from "../../test/harness/processes/gateway-program.ts";

export interface KilledCommand {
  /** How often it was killed before it ended by itself. */
  readonly kills: number;
  readonly tookMs: number;
  readonly output: string;
}

/** Kills it at most so many times, each within this time. Throws when it ends with an error. */
export async function runKilled(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  { mostKills, withinMs }: { readonly mostKills: number; readonly withinMs: number },
): Promise<KilledCommand> {
  const startedMs = performance.now();
  for (let kills = 0; ; kills++) {
    const child = Bun.spawn([...gatewayCommand, ...args], { env: environment, stdout: "pipe", stderr: "pipe" });
    const timer = kills < mostKills ? setTimeout(() => child.kill("SIGKILL"), Math.random() * withinMs) : undefined;
    const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    clearTimeout(timer);
    if (child.exitCode === 0) return { kills, output, tookMs: performance.now() - startedMs };
    if (child.signalCode !== "SIGKILL") throw new Error(`${args.join(" ")} ended with ${child.exitCode}: ${errors}`);
  }
}
