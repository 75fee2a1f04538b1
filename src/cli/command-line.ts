// The command `dragoman`: its subcommands, their options and help. Each subcommand is implemented in the file of its
// name.
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { readEnvironment } from "../config/environment.ts";
import { isPathFault, pathFault } from "../config/path-fault.ts";
import { ConfigurationError } from "../config/problem.ts";
import { addAdminCommands, gatewayOptions } from "./admin/commands.ts";
import { addChat, addHistoryCommands, addTokenUpdate } from "./gateway-commands.ts";
import { VERSION } from "../core/version.ts";
import { GATEWAY_LABELS, GATEWAY_NAMES, KEYS_IMPORT } from "../import/gateway-names.ts";
import { StoreError } from "../store/store.ts";
import { followLauncher, type Launcher } from "./launcher.ts";
import type * as remoteTokens from "./admin/tokens.ts";
import type * as token from "./database/token.ts";
import type { StoreFlags } from "./database/token.ts";
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
  new Option("--config <file>", "configuration file (default: DRAGOMAN_CONFIG, or dragoman.yaml in this folder)");
const data = () => new Option("--data <folder>", "data folder (default: DRAGOMAN_DATA, or ./data)");

const SERVE_HELP = `
The first start makes the data folder and prints an access token, once, with a
call to try it. No configuration is needed: a provider is enabled by its key in
the environment, and dragoman providers names the variables.

A flag overrides the environment, which overrides the configuration file.
dragoman check <config> says what is wrong with a file without a start.`;

function createProgram(setCode: (code: number) => void, launcher: Launcher): Command {
  const program = new Command("dragoman")
    .description("An LLM gateway: one chat completions API in front of all model providers.")
    .exitOverride()
    .showHelpAfterError("(dragoman --help lists the commands)");
  program.version(VERSION, "-v, --version");
  program.addHelpText("after", "\nRun dragoman <command> --help for its options.");

  program
    .command("serve")
    .description("run the gateway")
    .option("--port <n>", "port to listen on (default: PORT, or 4100)")
    .option("--host <address>", "address to listen on (default: DRAGOMAN_HOST, or 127.0.0.1)")
    .option(
      "--workers <count>",
      "processes that serve calls, or auto for one for each core (default: DRAGOMAN_WORKERS, or 1)",
    )
    .addOption(data())
    .addOption(config())
    .addHelpText("after", SERVE_HELP)
    .action(async (options) => setCode(await (await import("./serve.ts")).serve(options, readEnvironment(), launcher)));

  addTokenCommands(program);
  const key = program.command("key").description("the master key, which encrypts the secrets in the database");
  key
    .command("rotate")
    .description(
      "encrypt all secrets of the database again with the newest master key; first creates a new key if the gateway has its own key file",
    )
    .addOption(data())
    .addOption(config())
    .addOption(json())
    .action(async (options) => setCode(await (await import("./database/key.ts")).rotate(options, readEnvironment())));
  const database = program.command("database").description("the database of tenants, tokens, settings and calls");
  database
    .command("move")
    .description(
      "copy everything to another database while gateways use this one, compare both, and make the other one its successor",
    )
    .requiredOption(
      "--to <address>",
      "postgresql://..., or sqlite:<folder>; an empty database, or the one before the last move",
    )
    .addOption(data())
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./database/database-move.ts")).move(options, readEnvironment()));
  database
    .command("create")
    .description("create the database, also if one that existed before is missing; an existing database is not changed")
    .addOption(data())
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./database/database.ts")).create(options, readEnvironment()));
  addBackupCommands(program);
  addConsoleCommands(program);
  addAdminCommands(program);
  addLimitReconcile(program.commands.find((command) => command.name() === "limit")!);
  addToolCommands(program, setCode);
  addCacheCommands(program);
  addProviderCommands(
    program.commands.find((command) => command.name() === "provider")!,
    setCode,
  );
  addWebhookCommands(
    program.commands.find((command) => command.name() === "webhook")!,
    setCode,
  );
  addAuditCommands(
    program.commands.find((command) => command.name() === "audit")!,
    setCode,
  );
  addUsageExport(program.commands.find((command) => command.name() === "usage")!);
  addHistoryCommands(program.commands.find((command) => command.name() === "history")!);
  addRouteSimulate(program.commands.find((command) => command.name() === "route")!);
  addPolicySimulate(program.commands.find((command) => command.name() === "policy")!);
  for (const [word, noun] of [
    ["route", "routes"],
    ["policy", "policies"],
  ] as const)
    addVersionCommands(
      program.commands.find((command) => command.name() === word)!,
      word,
      noun,
    );
  addPolicyTest(
    program.commands.find((command) => command.name() === "policy")!,
    setCode,
  );
  gatewayOptions(
    program
      .command("apply")
      .description("make the configuration of the gateway equal to documents, and print the changes"),
  )
    .requiredOption("-f, --file <path...>", "files and folders of YAML documents; - is standard input")
    .option("--dry-run", "only print what would change")
    .option("--prune", "delete what is not in the documents, of the same kinds in the same tenants and projects")
    .option("--renew-secrets", "send secrets again that the gateway has already")
    .action(async (options) => setCode(await (await import("./apply/apply.ts")).apply(options, readEnvironment())));
  gatewayOptions(
    program
      .command("export")
      .description("print the configuration in the database as documents for apply, with placeholders for secrets"),
  )
    .option("--tenant <id>", "tenant, with its projects (default: default)")
    .option("--project <id>", "only this project")
    .option("--all", "all tenants")
    .option("-o, --output <folder>", "write one file per kind instead of printing")
    .action(async (options) => (await import("./apply/export.ts")).exportDocuments(options, readEnvironment()));
  addTop(program, setCode);
  addChat(program);
  gatewayOptions(
    program
      .command("models")
      .description(
        "list the models of the configuration, or those that can be called in a project of a running gateway",
      ),
  )
    .addOption(config())
    .option("--project <id>", "ask the gateway what can be called in this project")
    .action(async (options) =>
      options.project === undefined
        ? (await import("./listings.ts")).models(options, readEnvironment())
        : await (await import("./admin/project-models.ts")).projectModels(options, readEnvironment()),
    );
  program
    .command("routes")
    .description("list the routes of the configuration, with what they inherit")
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./listings.ts")).routes(options, readEnvironment()));
  program
    .command("providers")
    .description("list the providers that the gateway supports, and which are enabled")
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./listings.ts")).providersList(options, readEnvironment()));
  program
    .command("params")
    .description("show how a model handles each common parameter")
    .argument("<provider:model>")
    .addOption(config())
    .addOption(json())
    .action(async (model, options) => (await import("./listings.ts")).params(model, options, readEnvironment()));
  program
    .command("test")
    .description(
      "check with small real calls which parts of the API contract a model fulfils; costs a few thousand tokens",
    )
    .argument("<provider:model>")
    .option("--base-url <url>", "address of the provider for this run; it may be in a private network")
    .option("--api-key <key>", "credential for this run")
    .option("--only <check...>", "run only these checks")
    .option("--timeout <seconds>", "timeout of each call (default: 60)", positiveNumber)
    .addOption(config())
    .addOption(json())
    .action(async (model, options) =>
      setCode(await (await import("./conformance.ts")).conformance(model, options, readEnvironment())),
    );
  program
    .command("simulate")
    .description(
      "simulate calls and faults against the routes of a configuration in virtual time, and print the results; no provider is called",
    )
    .argument("<config>")
    .requiredOption("--traffic <file>", "file with calls, latencies and faults")
    .option(
      "--operation <name>",
      "operation of the calls that name none, such as embeddings (default: chat.completions)",
    )
    .option("--seed <n>", "random seed (default: that of the traffic file, or 1)", seedNumber)
    .option("--verbose", "print each call with its attempts and their reasons")
    .addOption(json())
    .action(async (file, options) => (await import("./simulate.ts")).simulate(file, options, readEnvironment()));
  addLogs(program);
  const ledger = program.command("ledger").description("the journal of calls on disk");
  for (const [name, description] of [
    ["status", "show what is in the journal and not yet in the database; works while the server runs"],
    ["verify", "read all entries of the journal, and report what is damaged or missing"],
  ] as const)
    ledger
      .command(name)
      .description(description)
      .addOption(data())
      .addOption(config())
      .addOption(json())
      .action(async (options) => setCode((await import("./ledger.ts"))[name](options, readEnvironment())));
  addImport(program, setCode);
  program
    .command("check")
    .description("check a configuration file and the tests of its routes")
    .argument("<config>")
    .addOption(json())
    .action(async (file, options) => setCode((await import("./check.ts")).check(file, options, readEnvironment())));
  program
    .command("health")
    .description(
      "ask the gateway of this machine whether it accepts calls; exit code 0 when it does, 1 when it does not",
    )
    .option("--url <address>", "address of the gateway (default: DRAGOMAN_URL, or that of PORT and DRAGOMAN_HOST)")
    .option("--live", "ask whether it runs, even if it refuses calls")
    .action(async (options) => setCode(await (await import("./health.ts")).health(options, readEnvironment())));
  program
    .command("version")
    .description("print the version")
    .addOption(json())
    .action((options) => printLine(options.json === true ? JSON.stringify({ version: VERSION }) : VERSION));
  return program;
}

function addImport(program: Command, setCode: (code: number) => void): void {
  const imports = program.command("import").description("take over the configuration of another gateway");
  for (const gateway of GATEWAY_NAMES)
    imports
      .command(gateway)
      .description(
        `take over a configuration of ${GATEWAY_LABELS[gateway]}, and print what became of each of its values`,
      )
      .argument("<file>")
      .option("--out <folder>", "folder to write, which does not exist yet (default: nothing is written)")
      .option("--name <name>", "name of the route, for a file that describes one without a name")
      .option("--model <name...>", "models that clients ask for, where the file leaves the model to them")
      .option("--provider <name=provider...>", "which provider stands behind a name of the other gateway")
      .addOption(json())
      .action(async (file, options) => setCode((await import("./import.ts")).importForeign(gateway, file, options)));
  imports
    .command(KEYS_IMPORT.name)
    .description(KEYS_IMPORT.description)
    .argument("<dump>")
    .addOption(data())
    .addOption(config())
    .option("--tenant <id>", "tenant of the projects", "default")
    .option("--project <id>", "project of keys without a team", "default")
    .option("--accept-foreign-keys", "the keys stay valid until a day; without a text of their own here")
    .option("--until <date>", "the last day in UTC on which the keys are valid")
    .option(
      "--claim-links <address>",
      "in place of that, a link to a new token for each key; where browsers reach the console",
    )
    .addOption(json())
    .action(async (dump, options) =>
      (await import("./database/import-keys.ts")).importKeys(dump, options, readEnvironment()),
    );
}

function addConsoleCommands(program: Command): void {
  program
    .command("console")
    .description("the web console")
    .command("link")
    .description("print a link that logs in to the console once, within ten minutes; works in a terminal only")
    .option("--user <id>", "user as whom it logs in (default: the only operator)")
    .option("--permission <name...>", "permissions of the session, such as read_content")
    .option("--port <n>", "port of the gateway (default: PORT, or that of the configuration)")
    .addOption(data())
    .addOption(config())
    .action(async (options) => (await import("./database/console-link.ts")).link(options, readEnvironment()));
}

const passphraseFile = () =>
  new Option(
    "--passphrase-file <file>",
    "file with the passphrase of the backup (default: DRAGOMAN_BACKUP_PASSPHRASE)",
  );

function addBackupCommands(program: Command): void {
  const backup = program.command("backup").description("copies of the database in one file each");
  backup
    .command("create <file>", { isDefault: true })
    .description(
      "write everything in the database to a file, as of one moment, also while gateways run; with a passphrase, encrypted",
    )
    .addOption(passphraseFile())
    .addOption(data())
    .addOption(config())
    .addOption(json())
    .action(async (file, options) => (await import("./database/backup.ts")).create(file, options, readEnvironment()));
  backup
    .command("verify <file>")
    .description("read all of a backup, and say whether it is as it was written; nothing is restored")
    .addOption(passphraseFile())
    .addOption(json())
    .action(async (file, options) => (await import("./database/backup.ts")).verify(file, options, readEnvironment()));
  program
    .command("restore <file>")
    .description("bring back a backup into an empty database, or in place of a SQLite database that no gateway uses")
    .option("--to <address>", "postgresql://..., or sqlite:<folder> (default: the database of the gateway)")
    .option("--replace", "keep the SQLite database that is there under another name, and put the backup in its place")
    .option(
      "--newer <address...>",
      "databases that are newer, or of other gateways: what is revoked there is revoked here",
    )
    .option("--revoke-all", "revoke every access token")
    .addOption(passphraseFile())
    .addOption(data())
    .addOption(config())
    .addOption(json())
    .action(async (file, options) => (await import("./database/restore.ts")).restore(file, options, readEnvironment()));
}

function addTop(program: Command, setCode: (code: number) => void): void {
  gatewayOptions(
    program
      .command("top")
      .description("show a running gateway live: calls, errors, tokens, times, targets, budgets; q quits"),
  )
    .option("--interval <seconds>", "time between readings (default: 1)", positiveNumber)
    .option("--once", "print it once, without a terminal")
    .action(async (options) => setCode(await (await import("./top.ts")).top(options, readEnvironment())));
}

/** Added to the commands of the admin API for limits: works directly on the store in which several gateways count. */
function addLimitReconcile(limits: Command): void {
  limits
    .command("reconcile")
    .description(
      "write off what gateways that are gone for good had leased or reserved of budgets with the window `total` in the limit store",
    )
    .option("--dry-run", "only print what would be written off")
    .option(
      "--replica <id...>",
      "only these, even if they were seen within the last minute (default: all that were not)",
    )
    .addOption(config())
    .addOption(json())
    .action(async (options) => (await import("./limit-reconcile.ts")).limitReconcile(options, readEnvironment()));
}

function addToolCommands(program: Command, setCode: (code: number) => void): void {
  const tools = program
    .command("tools")
    .description("list and try out the tools of registered tool servers through the gateway");
  const atServer = (command: Command) =>
    gatewayOptions(command.argument("<server>"))
      .option("--tenant <id>", "tenant (default: default)")
      .option("--project <id>", "project, instead of the tenant");
  atServer(tools.command("list").description("list the usable tools of a tool server")).action(
    async (server, options) => (await import("./admin/tools.ts")).list(server, options, readEnvironment()),
  );
  atServer(tools.command("test").description("test the connection to a tool server")).action(async (server, options) =>
    setCode(await (await import("./admin/tools.ts")).test(server, options, readEnvironment())),
  );
  atServer(tools.command("call").description("call a tool and print its result"))
    .argument("<tool>")
    .option("-f, --file <file>", "arguments, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", "single arguments, such as a=2 or message=hello")
    .action(async (server, tool, options) =>
      setCode(await (await import("./admin/tools.ts")).call(server, tool, options, readEnvironment())),
    );
}

function addCacheCommands(program: Command): void {
  const cache = program.command("cache").description("remove answers from the response cache of the running gateway");
  gatewayOptions(
    cache.command("purge").description("remove the answers of a tenant, of one of its routes, or one answer"),
  )
    .option("--tenant <id>", "tenant (default: default)")
    .option("--route <name>", "only answers that this route has kept; direct for calls without a route")
    .option("--key <key>", "only the answer with this key, as in x-gateway-cache-key")
    .action(async (options) => (await import("./admin/cache.ts")).purge(options, readEnvironment()));
}

/** Added to the commands of the admin API for routes. */
function addRouteSimulate(routes: Command): void {
  gatewayOptions(
    routes
      .command("simulate")
      .description("show where the last calls of a route would go, with the route as it is and with a change")
      .argument("<name>"),
  )
    .option("--tenant <id>", "tenant (default: default)")
    .option("--project <id>", "project, instead of the tenant")
    .option("-f, --file <file>", "the route as it would become, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", 'single fields of it, such as targets=["sandbox:echo"]')
    .option(
      "--fault <target=kind...>",
      "what is wrong with targets, such as a:b=dead, a:b=status:529 or a:*=slow:2000@0.5 (half of the calls)",
    )
    .option("--calls <n>", "how many calls, the newest (default: 1000)", positiveNumber)
    .action(async (name, options) => (await import("./admin/routes.ts")).simulate(name, options, readEnvironment()));
}

/** Added to the commands of the admin API for providers. */
function addProviderCommands(providers: Command, setCode: (code: number) => void): void {
  const target = (command: Command): Command => gatewayOptions(command.argument("<provider[:model]>"));
  target(providers.command("test").description("test a provider with one small call, which a project pays"))
    .option("--project <id>", "the project that pays (default: default)")
    .option("--operation <name>", "such as embeddings (default: one that the model has)")
    .action(async (name, options) =>
      setCode(await (await import("./admin/providers.ts")).test(name, options, readEnvironment())),
    );
  target(
    providers
      .command("drain")
      .description("send no calls to a provider for a while; routes use their other targets until then"),
  )
    .option("--tenant <id>", "the tenant whose calls are kept from it (default: default)")
    .requiredOption("--for <time>", "how long, such as 30m, 1h or 2d; at most 7d")
    .option("--note <text>", "why; callers without another target see it")
    .action(async (name, options) => (await import("./admin/providers.ts")).drain(name, options, readEnvironment()));
  target(providers.command("undrain").description("end a drain before its time"))
    .option("--tenant <id>", "tenant (default: default)")
    .action(async (name, options) => (await import("./admin/providers.ts")).undrain(name, options, readEnvironment()));
}

/** Added to the commands of the admin API for policies. */
function addPolicySimulate(policies: Command): void {
  gatewayOptions(
    policies
      .command("simulate")
      .description("show which of the last calls a policy would deny, as it is and with a change")
      .argument("<name>"),
  )
    .option("--tenant <id>", "tenant (default: default)")
    .option("--project <id>", "project, instead of the tenant")
    .option("-f, --file <file>", "the policy as it would become, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", "single fields of it, such as rule=request.stream")
    .option("--calls <n>", "how many calls, the newest (default: 1000)", positiveNumber)
    .action(async (name, options) => (await import("./admin/policies.ts")).simulate(name, options, readEnvironment()));
}

/** Added to the commands of the admin API for routes and policies. */
function addVersionCommands(parent: Command, word: string, noun: "routes" | "policies"): void {
  const placed = (name: string, description: string): Command =>
    gatewayOptions(parent.command(name).description(description).argument("<name>"))
      .option("--tenant <id>", "tenant (default: default)")
      .option("--project <id>", "project, instead of the tenant");
  placed("versions", `list the versions of a ${word}, with their notes and calls`).action(async (name, options) =>
    (await import("./admin/routes.ts")).versions(noun, name, options, readEnvironment()),
  );
  placed("rollback", `publish a ${word} again as it was after a version`)
    .requiredOption("--to <version>", "number of the version", positiveNumber)
    .option("--note <text>", "why the change is made; its version and the audit log show it")
    .option("--dry-run", "only check, without changing anything")
    .action(async (name, options) =>
      (await import("./admin/routes.ts")).rollback(noun, name, options, readEnvironment()),
    );
  placed("draft", `print, save or discard your own draft of a ${word}; nothing is published`)
    .option("-f, --file <file>", "save this text as the draft; - is standard input")
    .option("--discard", "discard the draft")
    .action(async (name, options) => (await import("./admin/routes.ts")).draft(noun, name, options, readEnvironment()));
}

/** Added to the commands of the admin API for webhooks. */
function addWebhookCommands(webhooks: Command, setCode: (code: number) => void): void {
  const placed = (command: Command): Command =>
    gatewayOptions(command)
      .option("--tenant <id>", "tenant (default: default)")
      .option("--project <id>", "in this project");
  const everywhere = (command: Command): Command =>
    placed(command).option("--all", "all tenants, and the webhooks of the configuration file");
  everywhere(webhooks.command("deliveries").description("list deliveries to webhooks"))
    .option("--state <word>", "pending, delivered or dead")
    .option("--type <type>", "only this type of event")
    .option("--webhook <id>", "only the webhook with this id")
    .option("--most <n>", "maximum number of rows (default: 100)", positiveNumber)
    .action(async (options) => (await import("./admin/webhooks.ts")).deliveries(options, readEnvironment()));
  everywhere(
    webhooks.command("delivery").description("show a delivery with its event and last attempts").argument("<id>"),
  ).action(async (id, options) => (await import("./admin/webhooks.ts")).delivery(id, options, readEnvironment()));
  everywhere(webhooks.command("redeliver").description("send a delivery again").argument("<id>")).action(
    async (id, options) => (await import("./admin/webhooks.ts")).redeliver(id, options, readEnvironment()),
  );
  placed(
    webhooks.command("test").description("send the event webhook.test, and print the result").argument("<name>"),
  ).action(async (name, options) =>
    setCode(await (await import("./admin/webhooks.ts")).test(name, options, readEnvironment())),
  );
  placed(
    webhooks
      .command("rotate")
      .description("give a webhook a new secret; the old one signs too for a while")
      .argument("<name>"),
  )
    .option("--overlap-minutes <n>", "how long the old secret signs too (default: 1440)", Number)
    .action(async (name, options) => (await import("./admin/webhooks.ts")).rotate(name, options, readEnvironment()));
}

/** Added to the command that lists the usage. */
function addUsageExport(usage: Command): void {
  gatewayOptions(
    usage
      .command("export")
      .description("write cost and usage by day, project, model and route as CSV, in the columns of FOCUS for finance"),
  )
    .option("--tenant <id>", "tenant (default: default)")
    .option("--project <id>", "project, instead of the tenant")
    .option("--all", "all tenants; for operators")
    .option("-o, --out <file>", "file to write (default: standard output)")
    .option("--from <time>", "only calls from this time or day on")
    .option("--to <time>", "only calls before this time or day")
    .action(async (options) => (await import("./admin/usage.ts")).exportUsage(options, readEnvironment()));
}

/** Added to the command that lists the audit log. */
function addAuditCommands(audit: Command, setCode: (code: number) => void): void {
  const placed = (command: Command): Command =>
    gatewayOptions(command).option("--tenant <id>", "tenant (default: default)");
  placed(
    audit
      .command("verify")
      .description("check that no row was changed or removed, in the gateway or in an export, which needs no gateway")
      .argument("[file]"),
  )
    .option("--all", "all tenants, and what concerns none")
    .option("--head <number:hash>", "head that was noted earlier, which the log must still contain")
    .option("--key <key>", "key with which the export has to be signed")
    .action(async (file, options) =>
      setCode(await (await import("./admin/audit.ts")).verify(file, options, readEnvironment())),
    );
  placed(audit.command("export").description("write the audit log with its chain and a signature, as JSON Lines"))
    .option("--gateway", "what concerns no tenant")
    .option("-o, --out <file>", "file to write (default: standard output)")
    .option("--from <time>", "only rows from this time or day on")
    .option("--to <time>", "only rows before this time or day")
    .action(async (options) => (await import("./admin/audit.ts")).exportAudit(options, readEnvironment()));
  placed(
    audit
      .command("as-of")
      .description("show who had which role and which access token at a time in the past")
      .argument("<time>"),
  )
    .option("--project <id>", "only who had a role in this project")
    .option("--model <name>", "only tokens that could call this model")
    .option("--route <name>", "only tokens that could name this route")
    .action(async (at, options) => (await import("./admin/audit.ts")).asOf(at, options, readEnvironment()));
}

function addLogs(program: Command): void {
  gatewayOptions(
    program
      .command("logs")
      .description(
        "list calls, the newest first; show one call by its trace id; or print calls as they end, with --follow",
      ),
  )
    .argument("[trace-id]")
    .option("--tenant <id>", "tenant (default: default)")
    .option("--project <id>", "project, instead of the tenant")
    .option("--all", "all tenants, for operators")
    .option(
      "--filter <field=value...>",
      "only calls with these values, such as code=rate_limit_exceeded, status_class=5xx, model_asked=fast, min_ms=5000, metadata=team=search, from=2026-01-31",
    )
    .option("--operation <name>", "only calls of this operation, such as chat.completions or embeddings")
    .option("--most <n>", "maximum number of rows (default: 100)", positiveNumber)
    .option("--oldest", "the oldest first")
    .option("--follow", "print calls as they end, until interrupted; with --json a line of JSON for each")
    .option("--content", "show the content of one call, if the tenant keeps it; the access is written to the audit log")
    .option("--purge-content", "permanently delete the content that the tenant or project keeps")
    .option("--dry-run", "with --purge-content: only print the number of calls")
    .action(async (traceId: string | undefined, options) =>
      (await import("./admin/logs.ts")).logs(traceId, options, readEnvironment()),
    );
}

/** Added to the commands of the admin API for policies. */
function addPolicyTest(policies: Command, setCode: (code: number) => void): void {
  policies
    .command("test")
    .description(
      "test the policies of a file with sample requests, and print which take effect and why; no provider is called",
    )
    .requiredOption("-f, --file <file>", "configuration file, or one with policies only")
    .requiredOption("--request <file...>", "sample requests, optionally with the expected outcome; files or folders")
    .addOption(json())
    .action(async (options) => setCode((await import("./policy-test.ts")).policyTest(options, readEnvironment())));
}

function addTokenCommands(program: Command): void {
  const tokens = program.command("token").description("access tokens");
  const withStore = (command: Command) =>
    gatewayOptions(command.addOption(data()).addOption(config())).option(
      "--tenant <id>",
      "with the admin API: tenant (default: default)",
    );
  tokens
    .command("text")
    .description("print the text of a new project token for DRAGOMAN_FIRST_TOKEN, and store nothing")
    .action(async () => (await import("./database/token.ts")).printText());
  withStore(tokens.command("create").description("create an access token; it is shown only once"))
    .option("--name <name>", "name for display", "command line")
    .option("--project <id>", "project of the token; may be left out if there is only one")
    .option(
      "--role <role>",
      "role of a project token (default: developer); for a personal token a role that its user must have",
    )
    .option(
      "--permission <name...>",
      "special permissions: byo_endpoint, custom_price, debug, read_content, vendor_objects; or ops alone",
    )
    .option("--model <glob...>", "models that the token may call, such as <provider>:* (default: all)")
    .option("--route <glob...>", "routes that the token may call, with all their targets (default: all)")
    .option("--ip <range...>", "addresses from which the token may be used, such as 10.0.0.0/8 (default: all)")
    .option("--personal", "a personal token, which belongs to a user")
    .option("--user <id>", "user of a personal token; may be left out if there is only one, or only one with the role")
    .option("--expires-in-days <n>", "lifetime (default: 365 for projects, 90 for users)", positiveNumber)
    .action(async (options) => (await tokenCommands(options)).create(options, readEnvironment()));
  withStore(tokens.command("list").description("list access tokens, the newest first, without the tokens themselves"))
    .option("--project <id>", "with the admin API: only this project")
    .option("--personal", "with the admin API: only personal tokens of the tenant")
    .option("--state <word>", "with the admin API: only tokens that are live, expired or revoked")
    .option("--search <text>", "with the admin API: only tokens with this text in their name or id")
    .action(async (options) => (await tokenCommands(options)).list(options, readEnvironment()));
  gatewayOptions(tokens.command("get").description("show one access token of a gateway, without the token itself"))
    .argument("<id>")
    .option("--tenant <id>", "tenant, for a personal token (default: default)")
    .option("--project <id>", "project of the token")
    .action(async (id, options) => (await import("./admin/tokens.ts")).show(id, options, readEnvironment()));
  addTokenUpdate(tokens);
  withStore(
    tokens.command("revoke").description("revoke an access token at once; this cannot be undone").argument("<id>"),
  )
    .option("--project <id>", "with the admin API: project of the token")
    .action(async (id, options) => (await tokenCommands(options)).revoke(id, options, readEnvironment()));
  withStore(
    tokens
      .command("rotate")
      .description("give an access token a new secret; the old one stays valid for a while")
      .argument("<id>"),
  )
    .option("--project <id>", "with the admin API: project of the token")
    .option("--overlap-minutes <n>", "how long the old secret stays valid (default: 1440, at least 30)", positiveNumber)
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
  return isRemote ? await import("./admin/tokens.ts") : await import("./database/token.ts");
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError("expected a number above 0");
  return value;
}

function seedNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value >= 2 ** 32)
    throw new InvalidArgumentError("expected a whole number from 0 to 4294967295");
  return value;
}
