// `dragoman provider test`, `drain` and `undrain`: one small call to a provider, and keeping calls from it for a while.
import type { Environment } from "../../config/environment.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { printError, printJson, printLine } from "../output.ts";
import { type GatewayFlags, openAdminClient } from "./client.ts";
import { asked, pathOf, type PlaceFlags } from "./run.ts";
import { cell } from "../things.ts";

/** A provider may take as long as the gateway lets a call take. */
const TIMEOUT_MS = 620_000;
const MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60, d: 24 * 60 };

interface TestFlags extends GatewayFlags {
  readonly project?: string;
  readonly operation?: string;
}

interface DrainFlags extends GatewayFlags, Pick<PlaceFlags, "tenant"> {
  readonly for: string;
  readonly note?: string;
}

/** Returns 1 when the provider does not answer. */
export async function test(target: string, flags: TestFlags, environment: Environment): Promise<number> {
  const { provider, model } = partsOf(target);
  const { project = "default", operation } = flags;
  const answer = await openAdminClient(flags, environment).send(
    "POST",
    `${pathOf("providers", provider, { project })}/test`,
    {
      body: { ...(model !== null && { model }), ...(operation !== undefined && { operation }) },
      timeoutMs: TIMEOUT_MS,
    },
  );
  const result: JsonObject = isObject(answer) ? answer : {};
  const called = `${provider}:${cell(result, "model")}`;
  if (flags.json === true) printJson(result);
  else if (result["ok"] === true)
    printLine(
      `${called} answers ${cell(result, "operation")} with status ${cell(result, "status")} in ${cell(result, "duration_ms")} ms. The call is ${cell(result, "trace_id")}.`,
    );
  else
    printError(
      `${called} does not answer ${cell(result, "operation")}: status ${cell(result, "status")} after ${cell(result, "duration_ms")} ms. ${cell(result, "message")} (${cell(result, "code")}) The call is ${cell(result, "trace_id")}.`,
    );
  return result["ok"] === true ? 0 : 1;
}

export async function drain(target: string, flags: DrainFlags, environment: Environment): Promise<void> {
  const { provider, model } = partsOf(target);
  const answer = await asked(flags, environment, "POST", drainPath(provider, flags), {
    body: {
      minutes: minutesOf(flags.for),
      ...(model !== null && { model }),
      ...(flags.note !== undefined && { note: flags.note }),
    },
  });
  if (answer !== null) printLine(`${target} gets no calls until ${cell(answer, "until")}.`);
}

export async function undrain(target: string, flags: Omit<DrainFlags, "for">, environment: Environment): Promise<void> {
  const { provider, model } = partsOf(target);
  const query = { model: model ?? undefined };
  const answer = await asked(flags, environment, "DELETE", drainPath(provider, flags), { query });
  if (answer !== null) printLine(`${target} gets calls again.`);
}

function drainPath(provider: string, { tenant }: Pick<PlaceFlags, "tenant">): string {
  return `${pathOf("providers", provider, tenant === undefined ? {} : { tenant }, "tenant")}/drain`;
}

/** Of `<provider>` or `<provider>:<model_name>`. */
function partsOf(target: string): { readonly provider: string; readonly model: string | null } {
  const at = target.indexOf(":");
  return at < 0 ? { provider: target, model: null } : { provider: target.slice(0, at), model: target.slice(at + 1) };
}

/** Throws Error. */
function minutesOf(text: string): number {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (count === undefined)
    throw new Error(
      `--for expects a time such as 30m, 1h or 2d, at most 7d. Got ${JSON.stringify(text.slice(0, 50))}.`,
    );
  return Number(count) * MINUTES[unit!]!;
}
