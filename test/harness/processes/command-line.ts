// The command line in the process of a test, which takes a tenth of what a process of its own takes. What belongs to the
// process itself, such as pipes and signals, needs runCli of gateway-process.ts. One command runs at a time, because the
// environment, the folder and the output are the process's own.
import { runCommandLine } from "../../../src/cli/command-line.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let last: Promise<unknown> = Promise.resolve();

/** Runs the command line to its end, with nothing but `environment` as its environment. */
export function runHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  folder: string,
): Promise<Ran> {
  const ran = last.then(() => runNow(args, environment, folder));
  last = ran.catch(() => {});
  return ran;
}

async function runNow(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  folder: string,
): Promise<Ran> {
  const { env } = process;
  const before = process.cwd();
  const writes = {
    stdout: process.stdout.write.bind(process.stdout),
    stderr: process.stderr.write.bind(process.stderr),
  };
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    process[stream].write = (text: string | Uint8Array): boolean => {
      said[stream] += typeof text === "string" ? text : new TextDecoder().decode(text);
      return true;
    };
  process.env = { ...environment };
  process.chdir(folder);
  try {
    return { code: await runCommandLine(args), ...said };
  } finally {
    process.chdir(before);
    process.env = env;
    for (const stream of ["stdout", "stderr"] as const) process[stream].write = writes[stream];
    process.stdout.removeAllListeners("error");
  }
}
