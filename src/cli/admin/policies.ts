// `dragoman policy simulate`: which of the last calls a policy would deny, as it is and with a change.
import { counted } from "../../core/text/counted.ts";
import type { Environment } from "../../config/environment.ts";
import { isObject, type Json } from "../../core/json.ts";
import { printLine } from "../output.ts";
import type { GatewayFlags } from "./client.ts";
import { type InputFlags, readInput } from "./input.ts";
import { asked, pathOf, type PlaceFlags } from "./run.ts";
import { cell, printThings, rowsOf } from "../things.ts";

export interface SimulatePolicyFlags extends GatewayFlags, PlaceFlags, InputFlags {
  readonly calls?: number;
}

export async function simulate(name: string, flags: SimulatePolicyFlags, environment: Environment): Promise<void> {
  const { name: _name, ...policy } = await readInput(flags);
  const isChanged = flags.file !== undefined || flags.set !== undefined;
  const path = `${pathOf("policies", name, flags)}/simulate`;
  const answer = await asked(flags, environment, "POST", path, {
    body: { ...(isChanged && { policy }), ...(flags.calls !== undefined && { calls: flags.calls }) },
  });
  if (answer === null) return;
  printLine(`${counted(cell(answer, "calls"), "call")} from ${cell(answer, "from")} to ${cell(answer, "to")}`);
  for (const title of ["now", "proposed"]) printVerdicts(title, answer[title]);
  if (!isObject(answer["newly_denied"])) return;
  printLine(
    `newly denied: ${cell(answer, "newly_denied.calls")}, newly allowed: ${cell(answer, "newly_allowed.calls")}`,
  );
  const who = rowsOf(answer["who"]);
  if (who.length > 0) printThings(WHO, who);
}

const WHO = {
  PROJECT: "project_id",
  TOKEN: "token_id",
  "NEWLY DENIED": "newly_denied",
  "NEWLY ALLOWED": "newly_allowed",
};

function printVerdicts(title: string, verdicts: Json | undefined): void {
  if (!isObject(verdicts)) return;
  const [allowed, denied, unknown] = ["allowed", "denied", "unknown"].map((field) => cell(verdicts, field));
  printLine(`${title}: ${allowed} allowed, ${denied} denied, ${unknown} cannot be judged`);
}
