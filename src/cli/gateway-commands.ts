// The options and help of commands that ask a running gateway and are no verbs of one noun: a chat call, changes of access tokens, and the way
// back to a version of the configuration.
import { type Command, InvalidArgumentError } from "commander";
import { readEnvironment } from "../config/environment.ts";
import { gatewayOptions } from "./admin/commands.ts";

export function addChat(program: Command): void {
  gatewayOptions(program.command("chat").description("make a chat call at a running gateway, and print the answer"))
    .argument("[message]")
    .option("--model <name>", "model or route to call")
    .option("--project <id>", "project that pays, for a personal token")
    .option("-f, --file <file>", "the request, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", "single fields of the request, such as stream=true or max_tokens=100")
    .option("--explain", "explain the call instead of making it; needs the permission debug")
    .action(async (message, options) => (await import("./chat.ts")).chat(message, options, readEnvironment()));
}

/** Added to the commands for access tokens. */
export function addTokenUpdate(tokens: Command): void {
  gatewayOptions(
    tokens
      .command("update")
      .description("change the name, models, routes, addresses or permissions of an access token of a gateway")
      .argument("<id>"),
  )
    .option("--tenant <id>", "tenant, for a personal token (default: default)")
    .option("--project <id>", "project of the token")
    .option("-f, --file <file>", "fields, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", 'single fields, such as name=nightly or models=["sandbox:*"]')
    .action(async (id, options) => (await import("./admin/tokens.ts")).update(id, options, readEnvironment()));
}

/** Added to the commands of the admin API for versions. */
export function addHistoryCommands(history: Command): void {
  const placed = (name: string, description: string): Command =>
    gatewayOptions(history.command(name).description(description))
      .option("--tenant <id>", "tenant (default: default)")
      .option("--project <id>", "project, instead of the tenant");
  placed("diff", "show what differs between two versions of the configuration; 0 is the state before the first")
    .requiredOption("--from <version>", "number of the one version", versionNumber)
    .requiredOption("--to <version>", "number of the other version", versionNumber)
    .action(async (options) => (await import("./admin/history.ts")).diff(options, readEnvironment()));
  placed("rollback", "restore the configuration of a tenant or project to what it was after a version")
    .requiredOption("--to <version>", "number of the version; 0 is the state before the first", versionNumber)
    .option("--note <text>", "why the change is made; its version and the audit log show it")
    .option("--dry-run", "only check, without changing anything")
    .action(async (options) => (await import("./admin/history.ts")).rollback(options, readEnvironment()));
}

function versionNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("expected the number of a version, or 0");
  return Number(text);
}
