// `dragoman history diff` and `rollback`: what differs between two versions of the configuration, and the way back to one of them.
import type { Environment } from "../../config/environment.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { printJson, printLine, printTable } from "../output.ts";
import { type GatewayFlags, openAdminClient } from "./client.ts";
import { cell } from "./nouns.ts";
import { placePath, type PlaceFlags } from "./run.ts";

interface HistoryFlags extends GatewayFlags, PlaceFlags {
  readonly to: number;
  readonly json?: true;
}

export async function diff(
  { from, ...flags }: HistoryFlags & { readonly from: number },
  environment: Environment,
): Promise<void> {
  const answer = await openAdminClient(flags, environment).send(
    "GET",
    `${placePath({ place: "either" }, flags)}/diff`,
    {
      query: { from: String(from), to: String(flags.to) },
    },
  );
  if (flags.json === true) return printJson(answer);
  printChanges(answer);
}

export async function rollback(
  flags: HistoryFlags & { readonly note?: string; readonly dryRun?: true },
  environment: Environment,
): Promise<void> {
  const place = placePath({ place: "either" }, flags);
  const answer = await openAdminClient(flags, environment).send("POST", `${place}/rollback`, {
    query: { note: flags.note, dry_run: flags.dryRun === true ? "true" : undefined },
    body: { to: flags.to },
  });
  if (flags.json === true) return printJson(answer);
  printChanges(answer);
  printLine(
    flags.dryRun === true
      ? `The configuration would be as after version ${flags.to}: this was a dry run.`
      : `The configuration is as after version ${flags.to}.`,
  );
}

function printChanges(answer: Json): void {
  const changes = isObject(answer) && Array.isArray(answer["changes"]) ? answer["changes"] : [];
  printTable(
    ["ACTION", "KIND", "ID", "NAME", "PROJECT"],
    (changes as readonly JsonObject[]).map((change) =>
      ["action", "kind", "id", "name", "project_id"].map((field) => cell(change, field)),
    ),
  );
}
