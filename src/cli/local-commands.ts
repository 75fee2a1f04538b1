// The commands of this machine: they run the gateway, or read its configuration file, and ask no gateway that runs.
import { type Command, InvalidArgumentError } from "commander";
import { readEnvironment } from "../config/environment.ts";
import { VERSION } from "../core/version.ts";
import { GATEWAY_LABELS, GATEWAY_NAMES, KEYS_IMPORT } from "../import/gateway-names.ts";
import {
  commandOf,
  config,
  data,
  gatewayCommand,
  json,
  positiveNumber,
  runs,
  type SetCode,
} from "./command-options.ts";
import type { Launcher } from "./launcher.ts";
import { printLine } from "./output.ts";

const SERVE_HELP = `
The first start makes the data folder and prints an access token, once, with a
call to try it. No configuration is needed: a provider is enabled by its key in
the environment, and dragoman providers names the variables.

A flag overrides the environment, which overrides the configuration file.
dragoman check <config> says what is wrong with a file without a start.`;

export function addServe(program: Command, setCode: SetCode, launcher: Launcher): void {
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
}

/** Lists what the configuration has. */
export function addListings(program: Command): void {
  gatewayCommand(
    program,
    "models",
    "list the models of the configuration, or those that can be called in a project of a running gateway",
  )
    .addOption(config())
    .option("--project <id>", "ask the gateway what can be called in this project")
    .action(async (options) =>
      options.project === undefined
        ? (await import("./listings.ts")).models(options, readEnvironment())
        : await (await import("./admin/project-models.ts")).projectModels(options, readEnvironment()),
    );
  const listing = (words: string, description: string): Command =>
    program.command(words).description(description).addOption(config()).addOption(json());
  listing("routes", "list the routes of the configuration, with what they inherit").action(
    runs(() => import("./listings.ts"), "routes"),
  );
  listing("providers", "list the providers that the gateway supports, and which are enabled").action(
    runs(() => import("./listings.ts"), "providersList"),
  );
  listing("params <provider:model>", "show how a model handles each common parameter").action(
    runs(() => import("./listings.ts"), "params"),
  );
}

/** Checks of a configuration, of a model, and of the policies of a file. */
export function addChecks(program: Command, setCode: SetCode): void {
  program
    .command("check <config>")
    .description("check a configuration file and the tests of its routes")
    .addOption(json())
    .action(runs(() => import("./check.ts"), "check", setCode));
  program
    .command("test <provider:model>")
    .description(
      "check with small real calls which parts of the API contract a model fulfils; costs a few thousand tokens",
    )
    .option("--base-url <url>", "address of the provider for this run; it may be in a private network")
    .option("--api-key <key>", "credential for this run")
    .option("--only <check...>", "run only these checks")
    .option("--timeout <seconds>", "timeout of each call (default: 60)", positiveNumber)
    .addOption(config())
    .addOption(json())
    .action(runs(() => import("./conformance.ts"), "conformance", setCode));
  program
    .command("simulate <config>")
    .description(
      "simulate calls and faults against the routes of a configuration in virtual time, and print the results; no provider is called",
    )
    .requiredOption("--traffic <file>", "file with calls, latencies and faults")
    .option(
      "--operation <name>",
      "operation of the calls that name none, such as embeddings (default: chat.completions)",
    )
    .option("--seed <n>", "random seed (default: that of the traffic file, or 1)", seedNumber)
    .option("--verbose", "print each call with its attempts and their reasons")
    .addOption(json())
    .action(runs(() => import("./simulate.ts"), "simulate"));
  commandOf(program, "policy")
    .command("test")
    .description(
      "test the policies of a file with sample requests, and print which take effect and why; no provider is called",
    )
    .requiredOption("-f, --file <file>", "configuration file, or one with policies only")
    .requiredOption("--request <file...>", "sample requests, optionally with the expected outcome; files or folders")
    .addOption(json())
    .action(runs(() => import("./policy-test.ts"), "policyTest", setCode));
}

export function addHealthAndVersion(program: Command, setCode: SetCode): void {
  program
    .command("health")
    .description(
      "ask the gateway of this machine whether it accepts calls; exit code 0 when it does, 1 when it does not",
    )
    .option("--url <address>", "address of the gateway (default: DRAGOMAN_URL, or that of PORT and DRAGOMAN_HOST)")
    .option("--live", "ask whether it runs, even if it refuses calls")
    .action(runs(() => import("./health.ts"), "health", setCode));
  program
    .command("version")
    .description("print the version")
    .addOption(json())
    .action((options) => printLine(options.json === true ? JSON.stringify({ version: VERSION }) : VERSION));
}

export function addImport(program: Command, setCode: SetCode): void {
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
    .action(runs(() => import("./database/import-keys.ts"), "importKeys"));
}

function seedNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value >= 2 ** 32)
    throw new InvalidArgumentError("expected a whole number from 0 to 4294967295");
  return value;
}
