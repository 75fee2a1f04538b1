// The command `dragoman`: its subcommands, their options and help. Each subcommand is implemented in the file of its
// name.
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { readEnvironment } from "../config/environment.ts";
import { isPathFault, pathFault } from "../config/path-fault.ts";
import { ConfigurationError } from "../config/problem.ts";
import { addAdminCommands, gatewayOptions } from "./admin/commands.ts";
import { VERSION } from "../core/version.ts";
import { StoreError } from "../store/store.ts";
import { followLauncher, type Launcher } from "./launcher.ts";
import type * as remoteTokens from "./admin/tokens.ts";
import type * as token from "./token.ts";
import type { StoreFlags } from "./token.ts";
import { endQuietlyWithReader, printError, printLine } from "./output.ts";

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

const json = () => new Option("--json", "print JSON");
const config = () =>
  new Option("--config <file>", "configuration file (default: DRAGOMAN_CONFIG, or dragoman.yaml of this folder)");
const data = () => new Option("--data <folder>", "folder of the database (default: DRAGOMAN_DATA, or ./data)");

const SERVE_HELP = `
The first start makes the data folder and prints an access token, once, with a
call to try it. No configuration is needed: a provider is enabled by its key in
the environment, and dragoman providers names the variables.

A flag overrides the environment, which overrides the configuration file.
dragoman check <config> says what is wrong with a file without a start.`;

function createProgram(setCode: (code: number) => void, launcher: Launcher): Command {
  const program = new Command("dragoman")
    .description("An LLM gateway: one chat completion operation in front of every model provider.")
    .exitOverride()
    .showHelpAfterError("(dragoman --help shows what there is)");
  program.version(VERSION, "-v, --version");
  program.addHelpText("after", "\nRun dragoman <command> --help for its options.");

  program
    .command("serve")
    .description("run the gateway")
    .option("--port <n>", "port to listen on (default: PORT, or 4100)")
    .option("--host <address>", "address to listen on (default: DRAGOMAN_HOST, or 127.0.0.1)")
    .addOption(data())
    .addOption(config())
    .addHelpText("after", SERVE_HELP)
    .action(async (options) => setCode(await (await import("./serve.ts")).serve(options, readEnvironment(), launcher)));

  addTokenCommands(program);
  const key = program.command("key").description("the master key, which seals the secrets in the database");
  key
    .command("rotate")
    .description(
      "seal every secret of the database again under the newest master key; makes a new one where the key file is the gateway's own",
    )
    .addOption(data())
    .addOption(config())
    .addOption(json())
    .action(async (options) => setCode(await (await import("./key.ts")).rotate(options, readEnvironment())));
  program
    .command("database")
    .description("the database of tenants, tokens, settings and calls")
    .command("create")
    .description(
      "make an empty database, also where one is missing that has been there before; one that is there stays as it is",
    )
    .addOption(data())
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./database.ts")).create(options, readEnvironment()));
  addAdminCommands(program);
  addLimitReconcile(program.commands.find((command) => command.name() === "limit")!);
  addToolCommands(program, setCode);
  addWebhookCommands(
    program.commands.find((command) => command.name() === "webhook")!,
    setCode,
  );
  addPolicyTest(
    program.commands.find((command) => command.name() === "policy")!,
    setCode,
  );
  gatewayOptions(
    program
      .command("apply")
      .description(
        "make the gateway what documents say: print what changes, and change it; a second run changes nothing",
      ),
  )
    .requiredOption("-f, --file <path...>", "files and folders of YAML documents; - is standard input")
    .option("--dry-run", "print what would change, and change nothing")
    .option("--prune", "remove what stands in the same places, is of the same kinds, and is in no document")
    .option("--renew-secrets", "send secrets again where the gateway has one already")
    .action(async (options) => setCode(await (await import("./apply/apply.ts")).apply(options, readEnvironment())));
  gatewayOptions(
    program
      .command("export")
      .description("print what the database holds as documents for apply; secrets are placeholders"),
  )
    .option("--tenant <id>", "of this tenant and its projects (default: default)")
    .option("--project <id>", "of this project alone")
    .option("--all", "of every tenant")
    .option("-o, --output <folder>", "write a file for each kind in place of printing")
    .action(async (options) => (await import("./apply/export.ts")).exportDocuments(options, readEnvironment()));
  addTop(program, setCode);
  program
    .command("models")
    .description("models that the configuration lists")
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./listings.ts")).models(options, readEnvironment()));
  program
    .command("routes")
    .description("routes of the configuration, with what they inherit")
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./listings.ts")).routes(options, readEnvironment()));
  program
    .command("providers")
    .description("providers that the gateway knows, and which are enabled")
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./listings.ts")).providersList(options, readEnvironment()));
  program
    .command("params")
    .description("what becomes of each common parameter at a model")
    .argument("<provider:model>")
    .addOption(config())
    .addOption(json())
    .action(async (model, options) => (await import("./listings.ts")).params(model, options, readEnvironment()));
  program
    .command("test")
    .description(
      "make small real calls to a model and print what its provider keeps of the contract; costs a few thousand tokens",
    )
    .argument("<provider:model>")
    .option("--base-url <url>", "address of the provider for this run; it may lie in a private network")
    .option("--api-key <key>", "credential for this run")
    .option("--only <check...>", "run these checks only")
    .option("--timeout <seconds>", "time for each call (default: 60)", positiveNumber)
    .addOption(config())
    .addOption(json())
    .action(async (model, options) =>
      setCode(await (await import("./conformance.ts")).conformance(model, options, readEnvironment())),
    );
  program
    .command("simulate")
    .description(
      "play calls and faults of a file against the routes of a configuration in virtual time, and print where they went; nobody is called",
    )
    .argument("<config>")
    .requiredOption("--traffic <file>", "calls, latencies and faults")
    .option("--seed <n>", "seed of chance (default: that of the traffic file, or 1)", seedNumber)
    .option("--verbose", "a line for each call, with its attempts and why")
    .addOption(json())
    .action(async (file, options) => (await import("./simulate.ts")).simulate(file, options, readEnvironment()));
  addLogs(program);
  const ledger = program.command("ledger").description("the journal of calls on disk");
  for (const [name, description] of [
    ["status", "what the journal holds, and what the database does not have yet; also beside a server that runs"],
    ["verify", "read every entry of the journal, and name what is damaged or missing"],
  ] as const)
    ledger
      .command(name)
      .description(description)
      .addOption(data())
      .addOption(config())
      .addOption(json())
      .action(async (options) => setCode((await import("./ledger.ts"))[name](options, readEnvironment())));
  program
    .command("check")
    .description("read a configuration file and say what is wrong with it")
    .argument("<config>")
    .addOption(json())
    .action(async (file, options) => setCode((await import("./check.ts")).check(file, options, readEnvironment())));
  program
    .command("version")
    .description("print the version")
    .addOption(json())
    .action((options) => printLine(options.json === true ? JSON.stringify({ version: VERSION }) : VERSION));
  return program;
}

function addTop(program: Command, setCode: (code: number) => void): void {
  gatewayOptions(
    program
      .command("top")
      .description("how a running gateway does, live: calls, errors, tokens, times, targets, budgets; ends with q"),
  )
    .option("--interval <seconds>", "time between readings (default: 1)", positiveNumber)
    .option("--once", "print it once, without a terminal")
    .action(async (options) => setCode(await (await import("./top/top.ts")).top(options, readEnvironment())));
}

/** Added to the commands of the admin API for limits: works directly on the store in which several gateways count. */
function addLimitReconcile(limits: Command): void {
  limits
    .command("reconcile")
    .description(
      "write off what gateways that never come back had borrowed of budgets without end, and reserved for their last calls, at the store of the limits",
    )
    .option("--dry-run", "print what would be written off, and change nothing")
    .option(
      "--replica <id...>",
      "only of these, also when they were seen within the last minute (default: all that were not)",
    )
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./limit-reconcile.ts")).limitReconcile(options, readEnvironment()));
}

function addToolCommands(program: Command, setCode: (code: number) => void): void {
  const tools = program
    .command("tools")
    .description("tools of the tool servers that are registered, tried out over the gateway");
  const atServer = (command: Command) =>
    gatewayOptions(command.argument("<server>"))
      .option("--tenant <id>", "of this tenant (default: default)")
      .option("--project <id>", "as this project sees it");
  atServer(tools.command("list").description("the tools that may be used there, as the server lists them")).action(
    async (server, options) => (await import("./admin/tools.ts")).list(server, options, readEnvironment()),
  );
  atServer(tools.command("test").description("reach the server, and print how and how soon")).action(
    async (server, options) =>
      setCode(await (await import("./admin/tools.ts")).test(server, options, readEnvironment())),
  );
  atServer(tools.command("call").description("call one tool and print what it answers"))
    .argument("<tool>")
    .option("-f, --file <file>", "arguments, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", "single arguments, such as a=2 or message=hello")
    .action(async (server, tool, options) =>
      setCode(await (await import("./admin/tools.ts")).call(server, tool, options, readEnvironment())),
    );
}

/** Added to the commands of the admin API for webhooks. */
function addWebhookCommands(webhooks: Command, setCode: (code: number) => void): void {
  const placed = (command: Command): Command =>
    gatewayOptions(command)
      .option("--tenant <id>", "in this tenant (default: default)")
      .option("--project <id>", "in this project");
  const everywhere = (command: Command): Command =>
    placed(command).option("--all", "of every tenant, and of the webhooks that stand in the file for everybody");
  everywhere(webhooks.command("deliveries").description("what was sent to webhooks, and what was given up"))
    .option("--state <word>", "pending, delivered or dead")
    .option("--type <type>", "of this type of event")
    .option("--webhook <id>", "of the webhook with this id")
    .option("--most <n>", "print so many at most (default: 100)", positiveNumber)
    .action(async (options) => (await import("./admin/webhooks.ts")).deliveries(options, readEnvironment()));
  everywhere(
    webhooks.command("delivery").description("one delivery, with the event and its last attempts").argument("<id>"),
  ).action(async (id, options) => (await import("./admin/webhooks.ts")).delivery(id, options, readEnvironment()));
  everywhere(webhooks.command("redeliver").description("put a delivery into the queue again").argument("<id>")).action(
    async (id, options) => (await import("./admin/webhooks.ts")).redeliver(id, options, readEnvironment()),
  );
  placed(
    webhooks.command("test").description("send the event webhook.test, and print what became of it").argument("<name>"),
  ).action(async (name, options) =>
    setCode(await (await import("./admin/webhooks.ts")).test(name, options, readEnvironment())),
  );
  placed(
    webhooks
      .command("rotate")
      .description("give a webhook another secret; the old one signs as well for a while")
      .argument("<name>"),
  )
    .option("--overlap-minutes <n>", "how long the old secret signs as well (default: 1440)", Number)
    .action(async (name, options) => (await import("./admin/webhooks.ts")).rotate(name, options, readEnvironment()));
}

function addLogs(program: Command): void {
  gatewayOptions(
    program
      .command("logs")
      .description("the log of calls, the newest first; one of them, by its trace id; or, with --follow, as they end"),
  )
    .argument("[trace-id]")
    .option("--tenant <id>", "of this tenant (default: default)")
    .option("--project <id>", "of this project")
    .option("--all", "of all tenants, for operators")
    .option(
      "--filter <field=value...>",
      "only those with, such as: code=rate_limit_exceeded, status_class=5xx, model_asked=fast, min_ms=5000, metadata=team=search, from=2026-01-31",
    )
    .option("--most <n>", "print so many at most (default: 100)", positiveNumber)
    .option("--oldest", "the oldest first")
    .option("--follow", "print calls as they end, until interrupted; with --json a line of JSON for each")
    .option("--content", "of one call: what was said in it, where the tenant keeps that; leaves a row in the audit log")
    .option("--purge-content", "remove all that the tenant or project keeps of what was said, for good")
    .option("--dry-run", "with --purge-content: say of how many calls, and remove nothing")
    .action(async (traceId: string | undefined, options) =>
      (await import("./logs.ts")).logs(traceId, options, readEnvironment()),
    );
}

/** Added to the commands of the admin API for policies. */
function addPolicyTest(policies: Command, setCode: (code: number) => void): void {
  policies
    .command("test")
    .description("ask the policies of a file about sample requests, and print which speak and why; nobody is called")
    .requiredOption("-f, --file <file>", "configuration file, or one with policies only")
    .requiredOption("--request <file...>", "samples: requests, or requests with what is expected; files or folders")
    .addOption(json())
    .action(async (options) => setCode((await import("./policy-test.ts")).policyTest(options, readEnvironment())));
}

function addTokenCommands(program: Command): void {
  const tokens = program.command("token").description("access tokens");
  const withStore = (command: Command) =>
    gatewayOptions(command.addOption(data()).addOption(config())).option(
      "--tenant <id>",
      "over the admin API: in this tenant (default: default)",
    );
  withStore(tokens.command("create").description("make an access token; its text is shown once"))
    .option("--name <name>", "name for people", "command line")
    .option("--project <id>", "project of the token; may be left out when there is one")
    .option(
      "--role <role>",
      "role cap of a project token (default: developer); of a personal one the role that its user has to have",
    )
    .option(
      "--permission <name...>",
      "special permissions: byo_endpoint, custom_price, debug, read_content; or ops alone",
    )
    .option("--model <glob...>", "models that it may call, such as <provider>:* (default: all)")
    .option("--route <glob...>", "routes that it may call, with all of their targets (default: all)")
    .option("--ip <range...>", "addresses from which it may be used, such as 10.0.0.0/8 (default: all)")
    .option("--personal", "a personal token, which belongs to a user")
    .option("--user <id>", "user of a personal token; may be left out when there is one, or one with the role")
    .option("--expires-in-days <n>", "lifetime (default: 365 for projects, 90 for users)", positiveNumber)
    .action(async (options) => (await tokenCommands(options)).create(options, readEnvironment()));
  withStore(tokens.command("list").description("all access tokens, newest first; never their text"))
    .option("--project <id>", "over the admin API: those of this project")
    .action(async (options) => (await tokenCommands(options)).list(options, readEnvironment()));
  withStore(tokens.command("revoke").description("end an access token at once and for good").argument("<id>"))
    .option("--project <id>", "over the admin API: of this project")
    .action(async (id, options) => (await tokenCommands(options)).revoke(id, options, readEnvironment()));
  withStore(
    tokens
      .command("rotate")
      .description("give an access token a new secret; the old one goes on for a while")
      .argument("<id>"),
  )
    .option("--project <id>", "over the admin API: of this project")
    .option("--overlap-minutes <n>", "how long the old secret goes on (default: 1440, at least 30)", positiveNumber)
    .action(async (id, options) => (await tokenCommands(options)).rotate(id, options, readEnvironment()));
}

/**
 * Works on the database of a data folder, or over the admin API when the flags, or else the environment, name a gateway
 * and no folder.
 */
async function tokenCommands(flags: StoreFlags): Promise<typeof token | typeof remoteTokens> {
  const isRemote =
    flags.data === undefined &&
    flags.config === undefined &&
    (flags.url ?? readEnvironment().get("DRAGOMAN_URL")) !== undefined;
  return isRemote ? await import("./admin/tokens.ts") : await import("./token.ts");
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError("a number above 0 is expected");
  return value;
}

function seedNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value >= 2 ** 32)
    throw new InvalidArgumentError("a whole number from 0 to 4294967295 is expected");
  return value;
}
