// The options and help of commands that ask a running gateway and are no verbs of one noun: a chat call, what runs now,
// documents, simulations, versions, and what belongs to one kind of object.
import { type Command, InvalidArgumentError } from "commander";
import { readEnvironment } from "../config/environment.ts";
import { gatewayOptions, placedOptions } from "./admin/commands.ts";
import { commandOf, numberFromZero, positiveNumber, type SetCode } from "./command-options.ts";

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
export function addHistoryCommands(program: Command): void {
  const history = commandOf(program, "history");
  const placed = (name: string, description: string): Command =>
    placedOptions(history.command(name).description(description));
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

/** Documents to a gateway and back. */
export function addDocumentCommands(program: Command, setCode: SetCode): void {
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
}

export function addTop(program: Command, setCode: SetCode): void {
  gatewayOptions(
    program
      .command("top")
      .description("show a running gateway live: calls, errors, tokens, times, targets, budgets; q quits"),
  )
    .option("--interval <seconds>", "time between readings (default: 1)", positiveNumber)
    .option("--once", "print it once, without a terminal")
    .action(async (options) => setCode(await (await import("./top.ts")).top(options, readEnvironment())));
}

export function addLogs(program: Command): void {
  placedOptions(
    program
      .command("logs")
      .description(
        "list calls, the newest first; show one call by its trace id; or print calls as they end, with --follow",
      ),
  )
    .argument("[trace-id]")
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

export function addToolCommands(program: Command, setCode: SetCode): void {
  const tools = program
    .command("tools")
    .description("list and try out the tools of registered tool servers through the gateway");
  const atServer = (command: Command) => placedOptions(command.argument("<server>"));
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

export function addCacheCommands(program: Command): void {
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
export function addRouteCommands(program: Command): void {
  const routes = commandOf(program, "route");
  placedOptions(
    routes
      .command("simulate")
      .description("show where the last calls of a route would go, with the route as it is and with a change")
      .argument("<name>"),
  )
    .option("-f, --file <file>", "the route as it would become, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", 'single fields of it, such as targets=["sandbox:echo"]')
    .option(
      "--fault <target=kind...>",
      "what is wrong with targets, such as a:b=dead, a:b=status:529 or a:*=slow:2000@0.5 (half of the calls)",
    )
    .option("--calls <n>", "how many calls, the newest (default: 1000)", positiveNumber)
    .action(async (name, options) => (await import("./admin/routes.ts")).simulate(name, options, readEnvironment()));
  placedOptions(
    routes
      .command("compare")
      .description("compare the calls of a route with the copies that its mirror got of them")
      .argument("<name>"),
  )
    .option("--from <time>", "only calls from this time or day on")
    .option("--to <time>", "only calls before this time or day")
    .action(async (name, options) => (await import("./admin/routes.ts")).compare(name, options, readEnvironment()));
}

/** Added to the commands of the admin API for policies. */
export function addPolicySimulate(program: Command): void {
  const policies = commandOf(program, "policy");
  placedOptions(
    policies
      .command("simulate")
      .description("show which of the last calls a policy would deny, as it is and with a change")
      .argument("<name>"),
  )
    .option("-f, --file <file>", "the policy as it would become, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", "single fields of it, such as rule=request.stream")
    .option("--calls <n>", "how many calls, the newest (default: 1000)", positiveNumber)
    .action(async (name, options) => (await import("./admin/policies.ts")).simulate(name, options, readEnvironment()));
}

/** Added to the commands of the admin API for routes and policies. */
export function addVersionCommands(program: Command): void {
  addVersions(commandOf(program, "route"), "route", "routes");
  addVersions(commandOf(program, "policy"), "policy", "policies");
}

function addVersions(parent: Command, word: string, noun: "routes" | "policies"): void {
  const placed = (name: string, description: string): Command =>
    placedOptions(parent.command(name).description(description).argument("<name>"));
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

/** Added to the commands of the admin API for providers. */
export function addProviderCommands(program: Command, setCode: SetCode): void {
  const providers = commandOf(program, "provider");
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

/** Added to the commands of the admin API for webhooks. */
export function addWebhookCommands(program: Command, setCode: SetCode): void {
  const webhooks = commandOf(program, "webhook");
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
    .option("--overlap-minutes <n>", "how long the old secret signs too (default: 1440)", numberFromZero)
    .action(async (name, options) => (await import("./admin/webhooks.ts")).rotate(name, options, readEnvironment()));
}

/** Added to the command that lists the usage. */
export function addUsageExport(program: Command): void {
  const usage = commandOf(program, "usage");
  placedOptions(
    usage
      .command("export")
      .description("write cost and usage by day, project, model and route as CSV, in the columns of FOCUS for finance"),
  )
    .option("--all", "all tenants; for operators")
    .option("-o, --out <file>", "file to write (default: standard output)")
    .option("--from <time>", "only calls from this time or day on")
    .option("--to <time>", "only calls before this time or day")
    .action(async (options) => (await import("./admin/usage.ts")).exportUsage(options, readEnvironment()));
}

/** Added to the command that lists the audit log. */
export function addAuditCommands(program: Command, setCode: SetCode): void {
  const audit = commandOf(program, "audit");
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

function versionNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("expected the number of a version, or 0");
  return Number(text);
}
