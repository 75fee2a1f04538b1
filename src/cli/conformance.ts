// `dragoman test <provider:model>`: makes small real calls to a live provider or server, and prints a table of which
// parts of the contract it fulfils.
import type { Environment } from "../config/environment.ts";
import { resolveUpstreamProxy } from "../snapshot/server-options.ts";
import { capabilityOf } from "../core/capability.ts";
import { messageOf } from "../core/thrown.ts";
import { openCallContext } from "../process/parts/call-context.ts";
import { operationsAt } from "../http/model-operations.ts";
import { providers } from "../providers/registry.ts";
import { type Caller, openCaller } from "../diagnostics/conformance/caller.ts";
import { ALL_CHECKS } from "../diagnostics/conformance/operation-checks.ts";
import type { Base, Check, CheckVerdict } from "../diagnostics/conformance/checks.ts";
import { snapshotWithoutStore } from "./listings.ts";
import { namedConfiguration } from "./named-configuration.ts";
import { printJson, printLine, printTable } from "./output.ts";

export interface ConformanceFlags {
  readonly config?: string;
  readonly json?: true;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly only?: readonly string[];
  readonly timeout?: number;
}

/**
 * `kept`: the check succeeded. `lost`: an answer came that breaks the contract. `refused`: the provider or the gateway
 * responded with an error. `not offered`: the capability table says that the provider lacks the feature.
 */
export type CheckOutcome = "kept" | "lost" | "refused" | "not offered";

export interface Result {
  readonly check: string;
  readonly title: string;
  readonly outcome: CheckOutcome;
  readonly ms: number | null;
  readonly note: string;
}

const TIMEOUT_S = 60;

/** Returns the exit code: 0 when no check was lost or refused. Throws Error for an unknown check or provider. */
export async function conformance(model: string, flags: ConformanceFlags, environment: Environment): Promise<number> {
  const chosen = chosenChecks(flags.only);
  const snapshot = snapshotWithoutStore(flags, environment);
  const at = model.search(/[:/]/);
  const settings = snapshot.providers.get(at < 0 ? model : model.slice(0, at));
  if (settings === undefined || at < 0 || at === model.length - 1)
    throw new Error(
      `${JSON.stringify(model)} is not a model; expected <provider>:<model_name> with one of the providers ${[...snapshot.providers.keys()].join(", ")}`,
    );
  const upstreamProxy = resolveUpstreamProxy(namedConfiguration(flags, environment).configuration, environment);
  const caller = openCaller(snapshot, (joined) =>
    openCallContext({ ...joined, allowPrivateAddresses: true }, upstreamProxy),
  );
  const base = {
    model,
    timeout: flags.timeout ?? TIMEOUT_S,
    ...(flags.baseUrl !== undefined && { base_url: flags.baseUrl }),
    ...(flags.apiKey !== undefined && { api_key: flags.apiKey }),
  };
  const provider = providers.get(settings.family)!;
  const name = model.slice(at + 1);
  const served = operationsAt(settings, provider, name);
  const results: Result[] = [];
  for (const check of chosen) {
    const { operation = "chat.completions" } = check;
    const lacking = served.some((one) => one.name === operation)
      ? check.needs.find((feature) => capabilityOf(provider.capabilities, feature, name).support === "unsupported")
      : operation;
    results.push(
      lacking === undefined
        ? await resultOf(check, caller, base)
        : { check: check.id, title: check.title, outcome: "not offered", ms: null, note: `no ${lacking}` },
    );
  }
  print(model, results, flags);
  return results.some(({ outcome }) => outcome === "lost" || outcome === "refused") ? 1 : 0;
}

function chosenChecks(only: readonly string[] | undefined): readonly Check[] {
  const unknown = only?.find((id) => !ALL_CHECKS.some((check) => check.id === id));
  if (unknown !== undefined)
    throw new Error(
      `unknown check ${JSON.stringify(unknown)}; the checks are: ${ALL_CHECKS.map(({ id }) => id).join(", ")}`,
    );
  return only === undefined ? ALL_CHECKS : ALL_CHECKS.filter(({ id }) => only.includes(id));
}

async function resultOf(check: Check, caller: Caller, base: Base): Promise<Result> {
  const { came, fault, note } = await check.run(caller, base).catch((thrown: unknown): CheckVerdict => ({
    came: null,
    fault: messageOf(thrown),
  }));
  const result = { check: check.id, title: check.title, ms: came === null ? null : Math.round(came.tookMs) };
  if (fault !== null) return { ...result, outcome: "lost", note: fault };
  const error = came?.error ?? null;
  return error === null
    ? { ...result, outcome: "kept", note: note ?? "" }
    : {
        ...result,
        outcome: "refused",
        note: `${came!.status} ${error.code}: ${error.message.replaceAll(/\s+/g, " ").slice(0, 100)}`,
      };
}

function print(model: string, results: readonly Result[], flags: ConformanceFlags): void {
  const counts = (["kept", "lost", "refused", "not offered"] as const).map(
    (outcome) => [outcome, results.filter((result) => result.outcome === outcome).length] as const,
  );
  if (flags.json === true)
    return printJson({
      model,
      results,
      ...Object.fromEntries(counts.map(([outcome, count]) => [outcome.replace(" ", "_"), count])),
    });
  printTable(
    ["CHECK", "WHAT", "RESULT", "MS", "NOTE"],
    results.map(({ check, title, outcome, ms, note }) => [check, title, outcome, ms === null ? "-" : String(ms), note]),
  );
  printLine(`\n${model}: ${counts.map(([outcome, count]) => `${count} ${outcome}`).join(", ")}`);
}
