// `dragoman history diff` and `rollback`: what differs between two versions of the configuration, and the way back to one of them.
import type { Environment } from "../../config/environment.ts";
import type { JsonObject } from "../../core/json.ts";
import { printLine } from "../output.ts";
import type { GatewayFlags } from "./client.ts";
import { asked, placePath, type PlaceFlags } from "./run.ts";
import { printThings, rowsOf } from "../things.ts";

interface HistoryFlags extends GatewayFlags, PlaceFlags {
  readonly to: number;
}

export async function diff(
  { from, ...flags }: HistoryFlags & { readonly from: number },
  environment: Environment,
): Promise<void> {
  const answer = await asked(flags, environment, "GET", `${placePath(flags)}/diff`, {
    query: { from: String(from), to: String(flags.to) },
  });
  if (answer !== null) printChanges(answer);
}

export async function rollback(
  flags: HistoryFlags & { readonly note?: string; readonly dryRun?: true },
  environment: Environment,
): Promise<void> {
  const place = placePath(flags);
  const answer = await asked(flags, environment, "POST", `${place}/rollback`, {
    query: { note: flags.note, dry_run: flags.dryRun === true ? "true" : undefined },
    body: { to: flags.to },
  });
  if (answer === null) return;
  printChanges(answer);
  printLine(
    flags.dryRun === true
      ? `The configuration would be as after version ${flags.to}: this was a dry run.`
      : `The configuration is as after version ${flags.to}.`,
  );
}

const CHANGE = { ACTION: "action", KIND: "kind", ID: "id", NAME: "name", PROJECT: "project_id" };

function printChanges({ changes }: JsonObject): void {
  printThings(CHANGE, rowsOf(changes));
}
