// `dragoman route simulate`: where the last calls of a route would go, with the route as it is and with a change.
// `dragoman route compare`: its calls beside the copies that its mirror got. And the versions and drafts of routes and
// policies.
import { counted } from "../../core/text/counted.ts";
import type { Environment } from "../../config/environment.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { readConfigText } from "../../config/file.ts";
import { printError, printJson, printKept, printLine, printTable } from "../output.ts";
import { type AdminClient, type GatewayFlags, nullIfAbsent, openAdminClient } from "./client.ts";
import { type InputFlags, readInput } from "./input.ts";
import { asked, pathOf, type PlaceFlags } from "./run.ts";
import { cell, cellOf, NO_PRICE, rowsOf } from "../things.ts";

export interface SimulateRouteFlags extends GatewayFlags, PlaceFlags, InputFlags {
  readonly fault?: readonly string[];
  readonly calls?: number;
}

export async function simulate(name: string, flags: SimulateRouteFlags, environment: Environment): Promise<void> {
  const { name: _name, ...route } = await readInput(flags);
  const isChanged = flags.file !== undefined || flags.set !== undefined;
  const answer = await asked(flags, environment, "POST", `${pathOf("routes", name, flags)}/simulate`, {
    body: {
      ...(isChanged && { route }),
      faults: (flags.fault ?? []).map(faultOf),
      ...(flags.calls !== undefined && { calls: flags.calls }),
    },
  });
  if (answer !== null) print(answer);
}

export interface CompareRouteFlags extends GatewayFlags, PlaceFlags {
  readonly from?: string;
  readonly to?: string;
}

export async function compare(name: string, flags: CompareRouteFlags, environment: Environment): Promise<void> {
  const answer = await asked(flags, environment, "GET", `${pathOf("routes", name, flags)}/compare`, {
    query: { from: flags.from, to: flags.to },
  });
  if (answer === null) return;
  const { pairs, from, to } = answer;
  if (pairs === 0)
    return printLine("In this time there is no call of this route that was copied and whose copy has ended.");
  printLine(`${counted(cellOf(pairs), "call")} from ${cellOf(from)} to ${cellOf(to)}, each with its copy`);
  const sides = [answer["calls"], answer["copies"]].map((one) => one as JsonObject);
  printTable(
    ["", "CALLS", "COPIES"],
    COMPARED.map(([label, of]) => [label, ...sides.map(of)]),
  );
}

const percentilesAt =
  (member: string) =>
  (side: JsonObject): string =>
    `${cell(side, `${member}.p50`)}, ${cell(side, `${member}.p95`)}`;
const countsAt =
  (member: string) =>
  (side: JsonObject): string =>
    Object.entries(side[member] as JsonObject)
      .map(([name, calls]) => `${cellOf(calls)} ${name}`)
      .join(", ") || "-";
const figureAt =
  (member: string) =>
  (side: JsonObject): string =>
    cell(side, member);

/** The lines of the comparison. */
const COMPARED: readonly (readonly [label: string, of: (side: JsonObject) => string])[] = [
  ["targets", countsAt("targets")],
  ["errors", figureAt("errors")],
  ["codes", countsAt("codes")],
  ["finish reasons", countsAt("finish_reasons")],
  ["USD", figureAt("cost_usd")],
  ["without a price", figureAt("unpriced")],
  ["prompt tokens", figureAt("prompt_tokens")],
  ["completion tokens", figureAt("completion_tokens")],
  ["completion tokens: p50, p95", percentilesAt("completion_tokens_each")],
  ["time to the first content in ms: p50, p95", percentilesAt("first_content_ms")],
  ["whole call in ms: p50, p95", percentilesAt("total_ms")],
];

export interface VersionFlags extends GatewayFlags, PlaceFlags {
  readonly to?: number;
  readonly note?: string;
  readonly dryRun?: true;
}
/** As written in paths. */
export type VersionedNoun = "routes" | "policies";

export async function versions(
  noun: VersionedNoun,
  name: string,
  flags: VersionFlags,
  environment: Environment,
): Promise<void> {
  const answer = await asked(flags, environment, "GET", `${pathOf(noun, name, flags)}/versions`);
  if (answer === null) return;
  if (answer["origin"] === "file")
    return printLine(`${name} stands in the configuration file, of which the gateway keeps no versions.`);
  printTable(
    ["VERSION", "AT", "BY", "CHANGE", "CALLS", "ERRORS", "NOTE"],
    rowsOf(answer["data"]).map((row) => {
      const [by, change, calls] = [row["actor"], row["change"], row["calls"]].map((one) => (isObject(one) ? one : {}));
      return [
        cellOf(row["number"]),
        cellOf(row["at"]),
        cellOf(by!["user_id"] ?? by!["token_id"]),
        row["rolled_back_to"] === null ? cellOf(change!["action"]) : `back to ${cellOf(row["rolled_back_to"])}`,
        cellOf(calls!["calls"]),
        cellOf(calls!["errors"]),
        cellOf(row["note"]),
      ];
    }),
  );
}

export async function rollback(
  noun: VersionedNoun,
  name: string,
  flags: VersionFlags,
  environment: Environment,
): Promise<void> {
  const answer = await asked(flags, environment, "POST", `${pathOf(noun, name, flags)}/rollback`, {
    query: { note: flags.note, dry_run: flags.dryRun === true ? "true" : undefined },
    body: { to: flags.to ?? 0 },
  });
  if (answer === null) return;
  const word = noun === "routes" ? "route" : "policy";
  printLine(
    flags.dryRun === true
      ? `The ${word} ${name} would be as after version ${flags.to}: this was a dry run.`
      : `The ${word} ${name} is as after version ${flags.to}.`,
  );
}

export async function draft(
  noun: VersionedNoun,
  name: string,
  flags: GatewayFlags & PlaceFlags & { readonly file?: string; readonly discard?: true },
  environment: Environment,
): Promise<void> {
  const client = openAdminClient(flags, environment);
  const path = `${pathOf(noun, name, flags)}/draft`;
  if (flags.discard === true) {
    const answer = await client.send("DELETE", path);
    return flags.json === true ? printJson(answer) : printLine(`Your draft of ${name} is discarded.`);
  }
  const { file } = flags;
  const saved =
    file === undefined
      ? null
      : {
          text: file === "-" ? await Bun.stdin.text() : readConfigText(file),
          base_etag: await etagAt(client, pathOf(noun, name, flags)),
        };
  const answer = (
    saved === null ? await client.send("GET", path) : await client.send("PUT", path, { body: saved })
  ) as JsonObject;
  if (flags.json === true) return printJson(answer);
  const { text: typed, base_etag: base, current_etag: current, saved_at: at } = answer;
  if (typed === null) return printLine(`There is no draft of ${name}.`);
  if (saved === null) printKept(cellOf(typed));
  else printLine(`Your draft of ${name} was saved at ${cellOf(at)}. Nothing is published.`);
  if (base !== current) printError(`${name} has changed since this draft was begun.`);
}

/** `null` for an object that is not there yet. */
async function etagAt(client: AdminClient, path: string): Promise<string | null> {
  const found = await client.send("GET", path).catch(nullIfAbsent);
  return isObject(found) && typeof found["etag"] === "string" ? found["etag"] : null;
}

/**
 * Reads `<target>=<kind>`, with a number behind the kinds that need one, and the share of calls that meet it: `a:b=dead`,
 * `a:b=status:529`, `a:*=slow:2000@0.5`. Throws Error.
 */
function faultOf(text: string): JsonObject {
  const [, target, kind, number, share] = /^(.+)=([a-z]+)(?::(\d+))?(?:@(\d*\.?\d+))?$/.exec(text) ?? [];
  if (target === undefined || kind === undefined)
    throw new Error(
      `--fault expects <target>=<kind>, where the kind is dead, stall, cut, garbage, status:<status> or slow:<milliseconds>, and @0.5 behind it means half of the attempts. Got ${JSON.stringify(text.slice(0, 100))}.`,
    );
  return {
    target,
    kind,
    ...(number !== undefined && { [kind === "slow" ? "added_ms" : "status"]: Number(number) }),
    ...(share !== undefined && { share: Number(share) }),
  };
}

function print(answer: JsonObject): void {
  const { calls, from, to } = answer;
  printLine(
    calls === 0
      ? "No call of this route can be simulated."
      : `${counted(cellOf(calls), "call")} from ${cellOf(from)} to ${cellOf(to)}`,
  );
  for (const { reason, calls: left } of rowsOf(answer["left_out"]))
    printLine(`left out: ${cellOf(left)}. ${cellOf(reason)}`);
  for (const title of ["now", "proposed"]) {
    const outcome = answer[title];
    if (isObject(outcome)) printOutcome(title, outcome);
  }
  for (const { name, passed, fault } of rowsOf(answer["tests"]))
    printLine(`test ${cellOf(name)}: ${passed === true ? "holds" : `does not hold. ${cellOf(fault)}`}`);
  const { difference } = answer;
  if (!isObject(difference)) return;
  printLine("");
  for (const sentence of (difference["sentences"] ?? []) as readonly string[]) printLine(sentence);
}

function costText(outcome: JsonObject): string {
  const shown = cell(outcome, "cost_usd");
  return shown === NO_PRICE ? shown : shown.replace(/^\S+/, (cost) => `${cost} USD`);
}

function printOutcome(title: string, outcome: JsonObject): void {
  const { answered, failed, unjudged, total_ms: total } = outcome;
  printLine("");
  printLine(
    `${title}: ${cellOf(answered)} answered, ${cellOf(failed)} failed, ${costText(outcome)}; half of them end within ${cellOf(isObject(total) ? total["p50"] : null)} ms`,
  );
  if (typeof unjudged === "number" && unjudged > 0)
    printLine(
      `${counted(unjudged, "call meets a condition that reads", "calls meet conditions that read")} what records do not keep, such as headers: where ${unjudged === 1 ? "it goes" : "they go"} is not certain`,
    );
  printTable(
    ["TARGET", "CALLS", "SHARE", "REFUSED", "TOO LONG", "USD", "RECORDED ANSWERS"],
    rowsOf(outcome["targets"]).map((row) => [
      cellOf(row["target"]),
      cellOf(row["calls"]),
      `${((row["share"] as number) * 100).toFixed(1)} %`,
      cellOf(row["refused"]),
      cellOf(row["too_long"]),
      cell(row, "cost_usd"),
      cellOf(row["recorded_answers"]),
    ]),
  );
  for (const { calls, target, message } of rowsOf(outcome["refusals"]))
    printLine(`${cellOf(calls)} refused by ${cellOf(target)}: ${cellOf(message)}`);
  for (const { calls, code } of rowsOf(outcome["failures"])) printLine(`${cellOf(calls)} failed with ${cellOf(code)}`);
  for (const { kind, name, calls, unknown } of rowsOf(outcome["rules"]))
    printLine(
      `${cellOf(calls)} refused by the ${cellOf(kind)} ${cellOf(name)}${unknown === 0 ? "" : `; ${cellOf(unknown)} cannot be judged`}`,
    );
}
