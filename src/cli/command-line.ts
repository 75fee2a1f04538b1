// The command `dragoman`: its subcommands, in the order in which its help lists them. Their options and help are in the
// files of commands beside this one, and each is implemented in the file of its name.
import { Command, CommanderError } from "commander";
import { isPathFault, pathFault } from "../config/path-fault.ts";
import { ConfigurationError } from "../config/problem.ts";
import { addAdminCommands } from "./admin/commands.ts";
import type { SetCode } from "./command-options.ts";
import {
  addBackupCommands,
  addConsoleCommands,
  addDatabaseCommands,
  addLedgerCommands,
  addLimitReconcile,
  addTokenCommands,
} from "./database-commands.ts";
import { addGatewayCommands, addLogs } from "./gateway-commands.ts";
import { VERSION } from "../core/version.ts";
import { StoreError } from "../store/store-error.ts";
import { followLauncher, type Launcher } from "./launcher.ts";
import { addChecks, addHealthAndVersion, addImport, addListings, addServe } from "./local-commands.ts";
import { endQuietlyWithReader, printError } from "./output.ts";

/**
 * Returns the exit code. Errors of usage and of the system are printed as one line that names the cure, never as a
 * stack.
 */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  let code = 0;
  endQuietlyWithReader();
  const program = createProgram((result) => (code = result), followLauncher());
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode;
    if (!(thrown instanceof Error)) throw thrown;
    printError(
      isPathFault(thrown) ? `${thrown.path} cannot be used: ${pathFault(thrown, thrown.path)}` : thrown.message,
    );
    return thrown instanceof ConfigurationError || thrown instanceof StoreError ? 2 : 1;
  }
}

function createProgram(setCode: SetCode, launcher: Launcher): Command {
  const program = new Command("dragoman")
    .description("An LLM gateway: one chat completions API in front of all model providers.")
    .exitOverride()
    .showHelpAfterError("(dragoman --help lists the commands)");
  program.version(VERSION, "-v, --version");
  program.addHelpText("after", "\nRun dragoman <command> --help for its options.");

  addServe(program, setCode, launcher);
  addTokenCommands(program);
  addDatabaseCommands(program, setCode);
  addBackupCommands(program);
  addConsoleCommands(program);
  addAdminCommands(program);
  addLimitReconcile(program);
  addGatewayCommands(program, setCode);
  addListings(program);
  addChecks(program, setCode);
  addLogs(program);
  addLedgerCommands(program, setCode);
  addImport(program, setCode);
  addHealthAndVersion(program, setCode);
  return program;
}
