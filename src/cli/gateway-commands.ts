// The options and help of commands that ask a running gateway and are no verbs of one noun: a chat call, what runs now,
// documents, simulations, versions, and what belongs to one kind of object.
import { type Command, InvalidArgumentError } from "commander";
import { readEnvironment } from "../config/environment.ts";
import {
  commandOf,
  gatewayCommand,
  numberFromZero,
  placedCommand,
  positiveNumber,
  runs,
  type SetCode,
  tenantCommand,
} from "./command-options.ts";

/** All of them but `addLogs` and `addTokenUpdate`, which the help lists elsewhere. */
export function addGatewayCommands(program: Command, setCode: SetCode): void {
  addToolCommands(program, setCode);
  addCacheCommands(program);
  addProviderCommands(program, setCode);
  addWebhookCommands(program, setCode);
  addAuditCommands(program, setCode);
  addUsageExport(program);
  addHistoryCommands(program);
  addRouteCommands(program);
  addPolicySimulate(program);
  addVersionCommands(program);
  addDocumentCommands(program, setCode);
  addTop(program, setCode);
  addChat(program);
}

function addChat(program: Command): void {
  gatewayCommand(program, "chat [message]", "make a chat call at a running gateway, and print the answer")
    .option("--model <name>", "model or route to call")
    .option("--project <id>", "project that pays, for a personal token")
    .option("-f, --file <file>", "the request, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", "single fields of the request, such as stream=true or max_tokens=100")
    .option("--explain", "explain the call instead of making it; needs the permission debug")
    .action(runs(() => import("./chat.ts"), "chat"));
}

export function addTokenUpdate(tokens: Command): void {
  gatewayCommand(
    tokens,
    "update <id>",
    "change the name, models, routes, addresses or permissions of an access token of a gateway",
  )
    .option("--tenant <id>", "tenant, for a personal token (default: default)")
    .option("--project <id>", "project of the token")
    .option("-f, --file <file>", "fields, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", 'single fields, such as name=nightly or models=["sandbox:*"]')
    .action(runs(() => import("./admin/tokens.ts"), "update"));
}

function addHistoryCommands(program: Command): void {
  const history = commandOf(program, "history");
  placedCommand(
    history,
    "diff",
    "show what differs between two versions of the configuration; 0 is the state before the first",
  )
    .requiredOption("--from <version>", "number of the one version", versionNumber)
    .requiredOption("--to <version>", "number of the other version", versionNumber)
    .action(runs(() => import("./admin/history.ts"), "diff"));
  placedCommand(history, "rollback", "restore the configuration of a tenant or project to what it was after a version")
    .requiredOption("--to <version>", "number of the version; 0 is the state before the first", versionNumber)
    .option("--note <text>", "why the change is made; its version and the audit log show it")
    .option("--dry-run", "only check, without changing anything")
    .action(runs(() => import("./admin/history.ts"), "rollback"));
}

/** Documents to a gateway and back. */
function addDocumentCommands(program: Command, setCode: SetCode): void {
  gatewayCommand(program, "apply", "make the configuration of the gateway equal to documents, and print the changes")
    .requiredOption("-f, --file <path...>", "files and folders of YAML documents; - is standard input")
    .option("--dry-run", "only print what would change")
    .option("--prune", "delete what is not in the documents, of the same kinds in the same tenants and projects")
    .option("--renew-secrets", "send secrets again that the gateway has already")
    .action(runs(() => import("./apply/apply.ts"), "apply", setCode));
  gatewayCommand(
    program,
    "export",
    "print the configuration in the database as documents for apply, with placeholders for secrets",
  )
    .option("--tenant <id>", "tenant, with its projects (default: default)")
    .option("--project <id>", "only this project")
    .option("--all", "all tenants")
    .option("-o, --output <folder>", "write one file per kind instead of printing")
    .action(runs(() => import("./apply/export.ts"), "exportDocuments"));
}

function addTop(program: Command, setCode: SetCode): void {
  gatewayCommand(program, "top", "show a running gateway live: calls, errors, tokens, times, targets, budgets; q quits")
    .option("--interval <seconds>", "time between readings (default: 1)", positiveNumber)
    .option("--once", "print it once, without a terminal")
    .action(runs(() => import("./top.ts"), "top", setCode));
}

export function addLogs(program: Command): void {
  placedCommand(
    program,
    "logs [trace-id]",
    "list calls, the newest first; show one call by its trace id; or print calls as they end, with --follow",
  )
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
    .action(runs(() => import("./admin/logs.ts"), "logs"));
}

function addToolCommands(program: Command, setCode: SetCode): void {
  const tools = program
    .command("tools")
    .description("list and try out the tools of registered tool servers through the gateway");
  placedCommand(tools, "list <server>", "list the usable tools of a tool server").action(
    runs(() => import("./admin/tools.ts"), "list"),
  );
  placedCommand(tools, "test <server>", "test the connection to a tool server").action(
    runs(() => import("./admin/tools.ts"), "test", setCode),
  );
  placedCommand(tools, "call <server> <tool>", "call a tool and print its result")
    .option("-f, --file <file>", "arguments, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", "single arguments, such as a=2 or message=hello")
    .action(runs(() => import("./admin/tools.ts"), "call", setCode));
}

function addCacheCommands(program: Command): void {
  const cache = program.command("cache").description("remove answers from the response cache of the running gateway");
  tenantCommand(cache, "purge", "remove the answers of a tenant, of one of its routes, or one answer")
    .option("--route <name>", "only answers that this route has kept; direct for calls without a route")
    .option("--key <key>", "only the answer with this key, as in x-gateway-cache-key")
    .action(runs(() => import("./admin/cache.ts"), "purge"));
}

function addRouteCommands(program: Command): void {
  const routes = commandOf(program, "route");
  placedCommand(
    routes,
    "simulate <name>",
    "show where the last calls of a route would go, with the route as it is and with a change",
  )
    .option("-f, --file <file>", "the route as it would become, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", 'single fields of it, such as targets=["sandbox:echo"]')
    .option(
      "--fault <target=kind...>",
      "what is wrong with targets, such as a:b=dead, a:b=status:529 or a:*=slow:2000@0.5 (half of the calls)",
    )
    .option("--calls <n>", "how many calls, the newest (default: 1000)", positiveNumber)
    .action(runs(() => import("./admin/routes.ts"), "simulate"));
  placedCommand(routes, "compare <name>", "compare the calls of a route with the copies that its mirror got of them")
    .option("--from <time>", "only calls from this time or day on")
    .option("--to <time>", "only calls before this time or day")
    .action(runs(() => import("./admin/routes.ts"), "compare"));
}

function addPolicySimulate(program: Command): void {
  const policies = commandOf(program, "policy");
  placedCommand(
    policies,
    "simulate <name>",
    "show which of the last calls a policy would deny, as it is and with a change",
  )
    .option("-f, --file <file>", "the policy as it would become, as YAML or JSON; - is standard input")
    .option("--set <field=value...>", "single fields of it, such as rule=request.stream")
    .option("--calls <n>", "how many calls, the newest (default: 1000)", positiveNumber)
    .action(runs(() => import("./admin/policies.ts"), "simulate"));
}

function addVersionCommands(program: Command): void {
  addVersions(commandOf(program, "route"), "route", "routes");
  addVersions(commandOf(program, "policy"), "policy", "policies");
}

function addVersions(parent: Command, word: string, noun: "routes" | "policies"): void {
  placedCommand(parent, "versions <name>", `list the versions of a ${word}, with their notes and calls`).action(
    async (name, options) => (await import("./admin/routes.ts")).versions(noun, name, options, readEnvironment()),
  );
  placedCommand(parent, "rollback <name>", `publish a ${word} again as it was after a version`)
    .requiredOption("--to <version>", "number of the version", positiveNumber)
    .option("--note <text>", "why the change is made; its version and the audit log show it")
    .option("--dry-run", "only check, without changing anything")
    .action(async (name, options) =>
      (await import("./admin/routes.ts")).rollback(noun, name, options, readEnvironment()),
    );
  placedCommand(parent, "draft <name>", `print, save or discard your own draft of a ${word}; nothing is published`)
    .option("-f, --file <file>", "save this text as the draft; - is standard input")
    .option("--discard", "discard the draft")
    .action(async (name, options) => (await import("./admin/routes.ts")).draft(noun, name, options, readEnvironment()));
}

function addProviderCommands(program: Command, setCode: SetCode): void {
  const providers = commandOf(program, "provider");
  const onTarget = (name: string, description: string): Command =>
    gatewayCommand(providers, `${name} <provider[:model]>`, description);
  onTarget("test", "test a provider with one small call, which a project pays")
    .option("--project <id>", "the project that pays (default: default)")
    .option("--operation <name>", "such as embeddings (default: one that the model has)")
    .action(runs(() => import("./admin/providers.ts"), "test", setCode));
  onTarget("drain", "send no calls to a provider for a while; routes use their other targets until then")
    .option("--tenant <id>", "the tenant whose calls are kept from it (default: default)")
    .requiredOption("--for <time>", "how long, such as 30m, 1h or 2d; at most 7d")
    .option("--note <text>", "why; callers without another target see it")
    .action(runs(() => import("./admin/providers.ts"), "drain"));
  onTarget("undrain", "end a drain before its time")
    .option("--tenant <id>", "tenant (default: default)")
    .action(runs(() => import("./admin/providers.ts"), "undrain"));
}

export function addWebhookCommands(program: Command, setCode: SetCode): void {
  const webhooks = commandOf(program, "webhook");
  const placed = (words: string, description: string): Command =>
    tenantCommand(webhooks, words, description).option("--project <id>", "in this project");
  const everywhere = (words: string, description: string): Command =>
    placed(words, description).option("--all", "all tenants, and the webhooks of the configuration file");
  everywhere("deliveries", "list deliveries to webhooks")
    .option("--state <word>", "pending, delivered or dead")
    .option("--type <type>", "only this type of event")
    .option("--webhook <id>", "only the webhook with this id")
    .option("--most <n>", "maximum number of rows (default: 100)", positiveNumber)
    .action(runs(() => import("./admin/webhooks.ts"), "deliveries"));
  everywhere("delivery <id>", "show a delivery with its event and last attempts").action(
    runs(() => import("./admin/webhooks.ts"), "delivery"),
  );
  everywhere("redeliver <id>", "send a delivery again").action(runs(() => import("./admin/webhooks.ts"), "redeliver"));
  placed("test <name>", "send the event webhook.test, and print the result").action(
    runs(() => import("./admin/webhooks.ts"), "test", setCode),
  );
  placed("rotate <name>", "give a webhook a new secret; the old one signs too for a while")
    .option("--overlap-minutes <n>", "how long the old secret signs too (default: 1440)", numberFromZero)
    .action(runs(() => import("./admin/webhooks.ts"), "rotate"));
}

function addUsageExport(program: Command): void {
  const usage = commandOf(program, "usage");
  placedCommand(
    usage,
    "export",
    "write cost and usage by day, project, model and route as CSV, in the columns of FOCUS for finance",
  )
    .option("--all", "all tenants; for operators")
    .option("-o, --out <file>", "file to write (default: standard output)")
    .option("--from <time>", "only calls from this time or day on")
    .option("--to <time>", "only calls before this time or day")
    .action(runs(() => import("./admin/usage.ts"), "exportUsage"));
}

function addAuditCommands(program: Command, setCode: SetCode): void {
  const audit = commandOf(program, "audit");
  tenantCommand(
    audit,
    "verify [file]",
    "check that no row was changed or removed, in the gateway or in an export, which needs no gateway",
  )
    .option("--all", "all tenants, and what concerns none")
    .option("--head <number:hash>", "head that was noted earlier, which the log must still contain")
    .option("--key <key>", "key with which the export has to be signed")
    .action(runs(() => import("./admin/audit.ts"), "verify", setCode));
  tenantCommand(audit, "export", "write the audit log with its chain and a signature, as JSON Lines")
    .option("--gateway", "what concerns no tenant")
    .option("-o, --out <file>", "file to write (default: standard output)")
    .option("--from <time>", "only rows from this time or day on")
    .option("--to <time>", "only rows before this time or day")
    .action(runs(() => import("./admin/audit.ts"), "exportAudit"));
  tenantCommand(audit, "as-of <time>", "show who had which role and which access token at a time in the past")
    .option("--project <id>", "only who had a role in this project")
    .option("--model <name>", "only tokens that could call this model")
    .option("--route <name>", "only tokens that could name this route")
    .action(runs(() => import("./admin/audit.ts"), "asOf"));
}

function versionNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("expected the number of a version, or 0");
  return Number(text);
}
