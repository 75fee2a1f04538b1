// `dragoman route simulate`: where the last calls of a route would go, with the route as it is and with a change.
import type { Environment } from "../../config/environment.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { printJson, printLine, printTable } from "../output.ts";
import { type GatewayFlags, openAdminClient } from "./client.ts";
import { type InputFlags, readInput } from "./input.ts";
import { placePath, type PlaceFlags } from "./run.ts";

export interface SimulateRouteFlags extends GatewayFlags, PlaceFlags, Pick<InputFlags, "file"> {
  readonly fault?: readonly string[];
  readonly calls?: number;
  readonly json?: true;
}

export async function simulate(name: string, flags: SimulateRouteFlags, environment: Environment): Promise<void> {
  const client = openAdminClient(flags, environment);
  const { name: _name, ...route } = flags.file === undefined ? {} : await readInput(flags);
  const answer = await client.send(
    "POST",
    `${placePath({ place: "either" }, flags)}/routes/${encodeURIComponent(name)}/simulate`,
    {
      body: {
        ...(flags.file !== undefined && { route }),
        faults: (flags.fault ?? []).map(faultOf),
        ...(flags.calls !== undefined && { calls: flags.calls }),
      },
    },
  );
  if (flags.json === true) return printJson(answer);
  print(answer as JsonObject);
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

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly JsonObject[]) : [];
const text = (value: Json | undefined): string =>
  value === null || value === undefined ? "-" : typeof value === "string" ? value : JSON.stringify(value);

function print(answer: JsonObject): void {
  const { calls, from, to } = answer;
  printLine(
    calls === 0 ? "No call of this route can be simulated." : `${text(calls)} calls from ${text(from)} to ${text(to)}`,
  );
  for (const { reason, calls: left } of listOf(answer["left_out"]))
    printLine(`left out: ${text(left)}. ${text(reason)}`);
  for (const [title, key] of [
    ["now", "now"],
    ["proposed", "proposed"],
  ] as const) {
    const outcome = answer[key];
    if (isObject(outcome)) printOutcome(title, outcome);
  }
  const { difference } = answer;
  if (!isObject(difference)) return;
  printLine("");
  for (const sentence of (difference["sentences"] ?? []) as readonly string[]) printLine(sentence);
}

function printOutcome(title: string, outcome: JsonObject): void {
  const { answered, failed, cost_usd: cost, total_ms: total } = outcome;
  printLine("");
  printLine(
    `${title}: ${text(answered)} answered, ${text(failed)} failed, ${text(cost)} USD; half of them end within ${text(isObject(total) ? total["p50"] : null)} ms`,
  );
  printTable(
    ["TARGET", "CALLS", "SHARE", "REFUSED", "TOO LONG", "USD", "RECORDED ANSWERS"],
    listOf(outcome["targets"]).map((row) => [
      text(row["target"]),
      text(row["calls"]),
      `${((row["share"] as number) * 100).toFixed(1)} %`,
      text(row["refused"]),
      text(row["too_long"]),
      text(row["cost_usd"]),
      text(row["recorded_answers"]),
    ]),
  );
  for (const { calls, target, message } of listOf(outcome["refusals"]))
    printLine(`${text(calls)} refused by ${text(target)}: ${text(message)}`);
  for (const { calls, code } of listOf(outcome["failures"])) printLine(`${text(calls)} failed with ${text(code)}`);
}
