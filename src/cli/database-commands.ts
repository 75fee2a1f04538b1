// The commands that work on the database and the data folder themselves, and on what gateways share: access tokens, the
// master key, moves, backups, the ledger, and links to the console.
import { type Command, Option } from "commander";
import { readEnvironment } from "../config/environment.ts";
import type * as remoteTokens from "./admin/tokens.ts";
import {
  commandOf,
  config,
  data,
  databaseCommand,
  gatewayCommand,
  gatewayOptions,
  json,
  positiveNumber,
  runs,
  type SetCode,
} from "./command-options.ts";
import type * as token from "./database/token.ts";
import type { StoreFlags } from "./database/token.ts";
import { addTokenUpdate } from "./gateway-commands.ts";

export function addTokenCommands(program: Command): void {
  const tokens = program.command("token").description("access tokens");
  const storeCommand = (words: string, description: string) =>
    gatewayOptions(tokens.command(words).description(description).addOption(data()).addOption(config())).option(
      "--tenant <id>",
      "tenant (default with the admin API: default)",
    );
  tokens
    .command("text")
    .description("print the text of a new project token for DRAGOMAN_FIRST_TOKEN, and store nothing")
    .action(async () => (await import("./database/token.ts")).printText());
  storeCommand("create", "create an access token; it is shown only once")
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
    .option("--tool <glob...>", "tools of tool servers that the token may use, such as <server>__* (default: all)")
    .option("--ip <range...>", "addresses from which the token may be used, such as 10.0.0.0/8 (default: all)")
    .option("--personal", "a personal token, which belongs to a user")
    .option("--user <id>", "user of a personal token; may be left out if there is only one, or only one with the role")
    .option("--expires-in-days <n>", "lifetime (default: 365 for projects, 90 for users)", positiveNumber)
    .action(async (options) => (await tokenCommands(options)).create(options, readEnvironment()));
  storeCommand("list", "list access tokens, the newest first, without the tokens themselves")
    .option("--project <id>", "only tokens of this project")
    .option("--personal", "only personal tokens")
    .addOption(new Option("--state <word>", "only tokens in this state").choices(["live", "expired", "revoked"]))
    .option("--search <text>", "only tokens with this text in their name or id")
    .action(async (options) => (await tokenCommands(options)).list(options, readEnvironment()));
  gatewayCommand(tokens, "get <id>", "show one access token of a gateway, without the token itself")
    .option("--tenant <id>", "tenant, for a personal token (default: default)")
    .option("--project <id>", "project of the token")
    .action(runs(() => import("./admin/tokens.ts"), "show"));
  addTokenUpdate(tokens);
  storeCommand("revoke <id>", "revoke an access token at once; this cannot be undone")
    .option("--project <id>", "with the admin API: project of the token")
    .action(async (id, options) => (await tokenCommands(options)).revoke(id, options, readEnvironment()));
  storeCommand("rotate <id>", "give an access token a new secret; the old one stays valid for a while")
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

export function addDatabaseCommands(program: Command, setCode: SetCode): void {
  const key = program.command("key").description("the master key, which encrypts the secrets in the database");
  databaseCommand(
    key,
    "rotate",
    "encrypt all secrets of the database again with the newest master key; first creates a new key if the gateway has its own key file in the data folder",
  ).action(runs(() => import("./database/key.ts"), "rotate", setCode));
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
    .action(runs(() => import("./database/database-move.ts"), "move"));
  databaseCommand(
    database,
    "create",
    "create the database, also if one that existed before is missing; an existing database is not changed",
  ).action(runs(() => import("./database/database.ts"), "create"));
}

const passphraseFile = () =>
  new Option(
    "--passphrase-file <file>",
    "file with the passphrase of the backup (default: DRAGOMAN_BACKUP_PASSPHRASE)",
  );

export function addBackupCommands(program: Command): void {
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
    .action(runs(() => import("./database/backup.ts"), "create"));
  backup
    .command("verify <file>")
    .description("read all of a backup, and say whether it is as it was written; nothing is restored")
    .addOption(passphraseFile())
    .addOption(json())
    .action(runs(() => import("./database/backup.ts"), "verify"));
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
    .action(runs(() => import("./database/restore.ts"), "restore"));
}

export function addLedgerCommands(program: Command, setCode: SetCode): void {
  const ledger = program.command("ledger").description("the journal of calls on disk");
  for (const [name, description] of [
    ["status", "show what is in the journal and not yet in the database; works while the server runs"],
    ["verify", "read all entries of the journal, and report what is damaged or missing"],
  ] as const)
    databaseCommand(ledger, name, description).action(runs(() => import("./ledger.ts"), name, setCode));
}

export function addConsoleCommands(program: Command): void {
  program
    .command("console")
    .description("the web console")
    .command("link")
    .description("print a link that logs in to the console once, within ten minutes; works in a terminal only")
    .option(
      "--user <id>",
      "user as whom it logs in (default: the only operator, or of several the user of the first start, owner)",
    )
    .option("--permission <name...>", "permissions of the session, such as read_content")
    .option("--port <n>", "port of the gateway (default: PORT, or that of the configuration)")
    .addOption(data())
    .addOption(config())
    .action(runs(() => import("./database/console-link.ts"), "link"));
}

/** Added to the commands of the admin API for limits: works directly on the store in which several gateways count. */
export function addLimitReconcile(program: Command): void {
  commandOf(program, "limit")
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
    .action(runs(() => import("./limit-reconcile.ts"), "limitReconcile"));
}
