// The command `dragoman`: its subcommands, their options and help. What each does is in the file of its name.
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { readEnvironment } from "../config/environment.ts";
import { ConfigurationError } from "../config/problem.ts";
import { VERSION } from "../core/version.ts";
import { StoreError } from "../store/store.ts";
import { endQuietlyWithReader, printError, printLine } from "./output.ts";

/** Gives the exit code. Errors of use and of the system are one line that names the cure, never a stack. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  let code = 0;
  endQuietlyWithReader();
  const program = createProgram((result) => (code = result));
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode;
    if (!(thrown instanceof Error)) throw thrown;
    printError(thrown.message);
    return thrown instanceof ConfigurationError || thrown instanceof StoreError ? 2 : 1;
  }
}

const json = () => new Option("--json", "print JSON");
const config = () => new Option("--config <file>", "configuration file (default: DRAGOMAN_CONFIG, or dragoman.yaml of this folder)");
const data = () => new Option("--data <folder>", "folder of the database (default: DRAGOMAN_DATA, or ./data)");

function createProgram(setCode: (code: number) => void): Command {
  const program = new Command("dragoman").description("An LLM gateway: one chat completion operation in front of every model provider.").exitOverride().showHelpAfterError("(dragoman --help shows what there is)");
  program.version(VERSION, "-v, --version");

  program
    .command("serve")
    .description("run the gateway")
    .option("--port <n>", "port to listen on (default: PORT, or 4100)")
    .option("--host <address>", "address to listen on (default: DRAGOMAN_HOST, or 127.0.0.1)")
    .addOption(data())
    .addOption(config())
    .action(async (options) => setCode(await (await import("./serve.ts")).serve(options, readEnvironment())));

  addTokenCommands(program);
  program.command("models").description("models that the configuration lists").addOption(config()).addOption(json()).action(async (options) => (await import("./listings.ts")).models(options, readEnvironment()));
  program.command("routes").description("routes of the configuration, with what they inherit").addOption(config()).addOption(json()).action(async (options) => (await import("./listings.ts")).routes(options, readEnvironment()));
  program.command("providers").description("providers that the gateway knows, and which are enabled").addOption(config()).addOption(json()).action(async (options) => (await import("./listings.ts")).providersList(options, readEnvironment()));
  program.command("params").description("what becomes of each common parameter at a model").argument("<provider:model>").addOption(config()).addOption(json()).action(async (model, options) => (await import("./listings.ts")).params(model, options, readEnvironment()));
  program
    .command("test")
    .description("make small real calls to a model and print what its provider keeps of the contract; costs a few thousand tokens")
    .argument("<provider:model>")
    .option("--base-url <url>", "address of the provider for this run; it may lie in a private network")
    .option("--api-key <key>", "credential for this run")
    .option("--only <check...>", "run these checks only")
    .option("--timeout <seconds>", "time for each call (default: 60)", positiveNumber)
    .addOption(config())
    .addOption(json())
    .action(async (model, options) => setCode(await (await import("./conformance.ts")).conformance(model, options, readEnvironment())));
  program
    .command("simulate")
    .description("play calls and faults of a file against the routes of a configuration in virtual time, and print where they went; nobody is called")
    .argument("<config>")
    .requiredOption("--traffic <file>", "calls, latencies and faults")
    .option("--seed <n>", "seed of chance (default: that of the traffic file, or 1)", seedNumber)
    .option("--verbose", "a line for each call, with its attempts and why")
    .addOption(json())
    .action(async (file, options) => (await import("./simulate.ts")).simulate(file, options, readEnvironment()));
  const ledger = program.command("ledger").description("the journal of calls on disk");
  for (const [name, description] of [["status", "what the journal holds, and what the database does not have yet; also beside a server that runs"], ["verify", "read every entry of the journal and name what is damaged"]] as const)
    ledger.command(name).description(description).addOption(data()).addOption(config()).addOption(json()).action(async (options) => setCode((await import("./ledger.ts"))[name](options, readEnvironment())));
  program.command("check").description("read a configuration file and say what is wrong with it").argument("<config>").addOption(json()).action(async (file, options) => setCode((await import("./check.ts")).check(file, options, readEnvironment())));
  program.command("version").description("print the version").addOption(json()).action((options) => printLine(options.json === true ? JSON.stringify({ version: VERSION }) : VERSION));
  return program;
}

function addTokenCommands(program: Command): void {
  const token = program.command("token").description("access tokens");
  const withStore = (command: Command) => command.addOption(data()).addOption(config()).addOption(json());
  withStore(token.command("create").description("make an access token; its text is shown once"))
    .option("--name <name>", "name for people (default: command line)")
    .option("--project <id>", "project of the token; may be left out when there is one")
    .option("--role <role>", "role cap of a project token (default: developer); of a personal one the role that its user has to have")
    .option("--permission <name...>", "special permissions: byo_endpoint, custom_price, debug")
    .option("--model <glob...>", "models that it may call, such as <provider>:* (default: all)")
    .option("--route <glob...>", "routes that it may call, with all of their targets (default: all)")
    .option("--ip <range...>", "addresses from which it may be used, such as 10.0.0.0/8 (default: all)")
    .option("--personal", "a personal token, which belongs to a user")
    .option("--user <id>", "user of a personal token; may be left out when there is one, or one with the role")
    .option("--expires-in-days <n>", "lifetime (default: 365 for projects, 90 for users)", positiveNumber)
    .action(async (options) => (await import("./token.ts")).create(options, readEnvironment()));
  withStore(token.command("list").description("all access tokens, newest first; never their text")).action(async (options) => (await import("./token.ts")).list(options, readEnvironment()));
  withStore(token.command("revoke").description("end an access token at once and for good").argument("<id>")).action(async (id, options) => (await import("./token.ts")).revoke(id, options, readEnvironment()));
  withStore(token.command("rotate").description("give an access token a new secret; the old one goes on for a while").argument("<id>"))
    .option("--overlap-minutes <n>", "how long the old secret goes on (default: 1440, at least 30)", positiveNumber)
    .action(async (id, options) => (await import("./token.ts")).rotate(id, options, readEnvironment()));
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError("a number above 0 is expected");
  return value;
}

function seedNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value >= 2 ** 32) throw new InvalidArgumentError("a whole number from 0 to 4294967295 is expected");
  return value;
}
