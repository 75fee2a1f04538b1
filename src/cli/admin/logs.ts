// `dragoman logs`: prints the log of calls over the admin API as a table or JSON, continuously, or one call and its
// content.
import { counted } from "../../core/text/counted.ts";
import type { Environment } from "../../config/environment.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { messageOf } from "../../core/thrown.ts";
import { type AdminClient, type GatewayFlags, openAdminClient, RefusedRequest } from "./client.ts";
import { CALL_COLUMNS } from "./nouns.ts";
import { filtersOf, type PlaceFlags, placePath } from "./run.ts";
import { hasReader, printError, printJson, printLine, printYaml } from "../output.ts";
import { cell, printThings } from "../things.ts";

export interface LogFlags extends GatewayFlags, PlaceFlags {
  readonly filter?: readonly string[];
  readonly operation?: string;
  readonly most?: number;
  readonly oldest?: true;
  readonly follow?: true;
  readonly content?: true;
  readonly purgeContent?: true;
  readonly dryRun?: true;
}

const MOST = 100;
const EVERY_MS = 1000;
/** Rows reach the database some time after their calls have ended, and in another order. */
const OVERLAP_MS = 10_000;

/** Throws Error when the gateway rejects the request. `--follow` ends with the process. */
export async function logs(traceId: string | undefined, flags: LogFlags, environment: Environment): Promise<void> {
  const client = openAdminClient(flags, environment);
  const place = placePath(flags);
  if (flags.purgeContent === true) return await purge(client, place, flags);
  if (traceId !== undefined)
    return await printOne(
      client,
      `${place}/logs/${encodeURIComponent(traceId)}${flags.content === true ? "/content" : ""}`,
      flags,
    );
  const { operation } = flags;
  const filters = { ...filtersOf(flags.filter ?? []), ...(operation !== undefined && { operation }) };
  if (flags.follow === true) return await follow(client, `${place}/logs`, filters, flags);
  const calls = await client.list(
    `${place}/logs`,
    { ...filters, ...(flags.oldest === true && { order: "oldest" }) },
    flags.most ?? MOST,
  );
  if (flags.json === true) return printJson(calls);
  printThings(CALL_COLUMNS, calls);
}

async function printOne(client: AdminClient, path: string, flags: LogFlags): Promise<void> {
  const found = await client.send("GET", path);
  if (flags.json === true) return printJson(found);
  printYaml(found);
}

async function purge(client: AdminClient, place: string, { dryRun, json }: LogFlags): Promise<void> {
  if (place === "") throw new Error("Name the tenant or project with --tenant or --project.");
  const answer = await client.send("DELETE", `${place}/content`, {
    query: { dry_run: dryRun === true ? "true" : undefined },
  });
  if (json === true) return printJson(answer);
  const calls = isObject(answer) ? cell(answer, "removed") : "0";
  printLine(
    dryRun === true
      ? `The content of ${counted(calls, "call")} would be deleted: this was a dry run.`
      : `The content of ${counted(calls, "call")} was deleted.`,
  );
}

const rowOf = (call: JsonObject): readonly string[] => Object.values(CALL_COLUMNS).map((field) => cell(call, field));

async function follow(
  client: AdminClient,
  path: string,
  filters: Readonly<Record<string, string>>,
  { json }: LogFlags,
): Promise<void> {
  const seen = new Map<string, number>();
  // The start is the gateway's time of the newest of all calls: its clock may differ from this machine's, and a search
  // for rare calls must not begin far in the past.
  const newest = async (): Promise<JsonObject | undefined> => (await client.list(path, {}, 1))[0];
  const last = await newest();
  let sinceMs = last === undefined ? 0 : endOf(last);
  const begunMs = sinceMs;
  /** Calls that ended before the start are only remembered, and not printed. */
  let isBegun = false;
  while (hasReader()) {
    const fromMs = Math.max(0, sinceMs - OVERLAP_MS);
    try {
      for (const call of await client.list(path, {
        ...filters,
        order: "ended",
        ended_from: new Date(fromMs).toISOString(),
      })) {
        const id = cell(call, "trace_id");
        const endMs = endOf(call);
        const isNew = !seen.has(id);
        seen.set(id, endMs);
        sinceMs = Math.max(sinceMs, endMs);
        if (isNew && (isBegun || endMs > begunMs))
          printLine(json === true ? JSON.stringify(call) : rowOf(call).join("  "));
      }
      isBegun = true;
      const latest = await newest();
      // Calls that began earlier and end later are found by their end times.
      if (latest !== undefined) sinceMs = Math.max(sinceMs, Date.parse(cell(latest, "at")));
    } catch (thrown) {
      if (thrown instanceof RefusedRequest) throw thrown;
      printError(messageOf(thrown));
    }
    for (const [id, endMs] of seen) if (endMs < sinceMs - 2 * OVERLAP_MS) seen.delete(id);
    await new Promise((resume) => setTimeout(resume, EVERY_MS));
  }
}

function endOf(call: JsonObject): number {
  return Math.ceil(Date.parse(cell(call, "at")) + Number(cell(call, "total_ms")));
}
