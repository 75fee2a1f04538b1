// The commands of the admin API, derived from the table of nouns.
import { type Command, InvalidArgumentError } from "commander";
import { readEnvironment } from "../../config/environment.ts";
import { USAGE_DIMENSIONS, USAGE_ORDERS } from "../../store/calls/calls.ts";
import { gatewayOptions } from "../command-options.ts";
import type { NounFlags } from "./run.ts";
import { NOUNS, type Noun, type Verb } from "./nouns.ts";

const WORDS: Readonly<Record<Verb, string>> = {
  list: "list all",
  get: "show one",
  create: "create one",
  update: "change fields of one",
  replace: "replace all fields of one",
  set: "set a user's role",
  delete: "delete one",
};

export function addAdminCommands(program: Command): void {
  for (const noun of NOUNS) {
    const command =
      program.commands.find((one) => one.name() === noun.word) ?? program.command(noun.word).description(noun.many);
    for (const verb of noun.verbs) addVerb(command, noun, verb);
  }
}

function addVerb(parent: Command, noun: Noun, verb: Verb): void {
  const command = gatewayOptions(
    parent
      .command(verb, { isDefault: noun.verbs.length === 1 })
      .description(verb === "list" || noun.named !== null ? WORDS[verb] : SINGLE[verb]),
  );
  const takesName = noun.named !== null && verb !== "list";
  const needsName = takesName && (verb !== "create" || noun.named === "id");
  if (takesName) command.argument(needsName ? `<${noun.named === "user_id" ? "user" : "name"}>` : "[name]");
  const ofTenant = noun.place !== "none" && noun.place !== "personal";
  if (ofTenant || (noun.word === "project" && (verb === "list" || verb === "create")))
    command.option("--tenant <id>", noun.place === "own" ? "tenant" : "tenant (default: default)");
  if (noun.place === "either") command.option("--project <id>", "project, instead of the tenant");
  if (noun.place === "personal") command.option("--project <id>", "project; yours without it");
  if ((verb === "list" || verb === "get") && noun.ofAll === true)
    command.option("--all", verb === "list" ? "all tenants; for operators" : "of whatever tenant; for operators");
  if (verb === "list") {
    command.option("--most <n>", "maximum number of rows", positiveInteger);
    command.option("--filter <field=value...>", "only rows with these values: query parameters of the list in the API");
  }
  if (verb === "list" && noun.sums === true)
    command
      .option("--by <words>", `group by these, separated by commas: ${USAGE_DIMENSIONS.join(", ")}`)
      .option("--order <word>", `one of ${USAGE_ORDERS.join(", ")}; all but group with the largest first`)
      .option("--csv", "print CSV");
  const takesFields = verb === "create" || verb === "update" || verb === "replace";
  if (takesFields)
    command
      .option("-f, --file <file>", "fields, as YAML or JSON; - is standard input")
      .option("--set <field=value...>", "single fields, such as limit=10 or scope.user=*");
  if (verb === "set")
    command.requiredOption(
      "--role <role>",
      "owner, admin, maintainer, developer or viewer; in a project at most maintainer",
    );
  if (verb !== "list" && verb !== "get") command.option("--dry-run", "only check, without changing anything");
  if (verb !== "list" && verb !== "get" && noun.isConfigured === true)
    command.option("--note <text>", "why the change is made; its version and the audit log show it");
  if (takesFields && noun.isTested === true)
    command.option("--override-tests <reason>", "publish it although tests of it fail; only owners can");
  if (verb === "delete" && noun.contains !== undefined)
    command.option("--yes", `delete ${noun.contains} without asking`);
  command.action(async (...given: unknown[]) => {
    const [id, flags] = takesName ? [(given[0] as string | undefined) ?? null, given[1]] : [null, given[0]];
    await (await import("./run.ts")).runVerb(noun, verb, id, flags as NounFlags, readEnvironment());
  });
}

const SINGLE: Readonly<Record<Verb, string>> = {
  ...WORDS,
  get: "show the settings",
  update: "change fields",
  replace: "replace all fields",
  delete: "delete the settings",
};

function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("expected a whole number above 0");
  return Number(text);
}
