// Carries out commands as the console shows them: in a shell that has the command line, with a gateway and a token in its environment.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanEnvironment } from "./processes/gateway-process.ts";
import { gatewayCommand, projectFolder } from "./processes/gateway-program.ts";
import { runToEnd } from "./processes/processes.ts";

interface CommandModule {
  readonly commandOf: (request: {
    readonly method?: string;
    readonly path: string;
    readonly body?: object;
  }) => string | null;
}

/** By name, because the console is checked with the types of a browser, and tests are not. */
export const { commandOf } = (await import(join(projectFolder, "console/src/api/command-of.ts"))) as CommandModule;

export interface CommandShell {
  /** What the command prints. Throws where it does not end with 0. */
  run(command: string, gateway: { readonly url: string; readonly token: string }): Promise<string>;
  close(): void;
}

export function openCommandShell(): CommandShell {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-commands-"));
  const program = join(folder, "dragoman");
  writeFileSync(program, `#!/bin/sh\nexec ${gatewayCommand.map((word) => `'${word}'`).join(" ")} "$@"\n`);
  chmodSync(program, 0o755);
  return {
    async run(command, { url, token }) {
      const env = cleanEnvironment({
        DRAGOMAN_URL: url,
        DRAGOMAN_TOKEN: token,
        PATH: `${folder}:${process.env["PATH"]}`,
      });
      const { code, stdout, stderr } = await runToEnd(["bash", "-c", command], { env, cwd: folder });
      if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}${stdout}`);
      return stdout;
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
