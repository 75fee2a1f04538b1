// `dragoman apply`: reads documents, prints what would change, and makes the changes. A second run changes nothing.
import { counted } from "../../core/text/counted.ts";
import type { Environment } from "../../config/environment.ts";
import { isConfiguredKind } from "../../core/configured/configured.ts";
import type { Json } from "../../core/json.ts";
import { HIDDEN, withoutSecrets } from "../../store/configuration/secret-fields.ts";
import { type AdminClient, type GatewayFlags, nullIfAbsent, openAdminClient } from "../admin/client.ts";
import { printError, printJson, printLine } from "../output.ts";
import { type Kind, readDocuments, titleOf, type DesiredState } from "./documents.ts";
import { make, readActualState } from "./gateway-state.ts";
import { withSecrets } from "./secrets.ts";
import { type ApplyPlan, type Difference, planOf, type Step, type ActualState } from "./plan.ts";

export interface ApplyFlags extends GatewayFlags {
  readonly file: readonly string[];
  readonly dryRun?: true;
  readonly prune?: true;
  readonly renewSecrets?: true;
}

/** Returns the exit code: 1 when it stopped before the end. */
export async function apply(flags: ApplyFlags, environment: Environment): Promise<number> {
  const read = await readDocuments(flags.file, environment);
  const client = openAdminClient(flags, environment);
  const actual = await stateFor(read, client);
  const { desired, missing } = withSecrets(read, actual, environment);
  if (missing.length > 0)
    throw new Error(
      `The documents need secrets that the gateway does not have. Set these variables, or write the secrets as \${NAME}:\n${missing.map(({ variable, of, from }) => `  ${variable}  ${of} (${from})`).join("\n")}`,
    );
  const plan = planOf(desired, actual, { prune: flags.prune === true, renewSecrets: flags.renewSecrets === true });
  const say = flags.json === true ? () => {} : printLine;
  for (const one of plan.readOnly)
    printError(
      `${one.from}: ${titleOf(one)} is set in the gateway's configuration file, which takes precedence; change it there.`,
    );
  for (const step of plan.steps) printStep(step, say);
  if (plan.steps.length === 0) say(`Nothing to do: ${plan.unchanged} unchanged.`);
  const { done, failure } = flags.dryRun === true ? { done: 0, failure: null } : await applyPlan(plan, client);
  if (flags.json === true) printJson(report(plan, done, failure, flags.dryRun === true));
  else if (flags.dryRun === true && plan.steps.length > 0) say(`This was a dry run: ${counts(plan)}.`);
  else if (failure === null && plan.steps.length > 0) say(`Done: ${counts(plan)}.`);
  if (failure !== null) {
    const { what, desired: stopped } = plan.steps[done]!;
    printError(
      `${done} of ${counted(plan.steps.length, "change")} ${done === 1 ? "was" : "were"} made. The next one failed: ${titleOf(what)}${stopped === null ? "" : ` (${stopped.from})`}: ${failure.message}`,
    );
  }
  return failure === null && plan.readOnly.length === 0 ? 0 : 1;
}

/** Reads one list for each kind and place. */
async function stateFor(desired: readonly DesiredState[], client: AdminClient): Promise<readonly ActualState[]> {
  const scopes = new Map<string, readonly [Kind, Pick<DesiredState, "tenant" | "project">]>();
  for (const { kind, tenant, project } of desired)
    scopes.set([kind, tenant, project].join(" "), [kind, { tenant, project }]);
  const found: ActualState[] = [];
  // a place may not be there yet
  for (const [kind, place] of scopes.values())
    found.push(...((await readActualState(client, kind, place).catch(nullIfAbsent)) ?? []));
  return found;
}

async function applyPlan(
  plan: ApplyPlan,
  client: AdminClient,
): Promise<{ readonly done: number; readonly failure: Error | null }> {
  let done = 0;
  for (const step of plan.steps) {
    try {
      await make(client, step);
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown;
      return { done, failure: thrown };
    }
    done += 1;
  }
  return { done, failure: null };
}

const SIGNS = { create: "+", change: "~", remove: "-" } as const;

function printStep(step: Step, say: (line: string) => void): void {
  say(`${SIGNS[step.action]} ${titleOf(step.what)}`);
  if (step.action === "change")
    for (const { path, from, to } of shownDifferences(step)) say(`    ${path}: ${textOf(from)} -> ${textOf(to)}`);
}

function textOf(value: Json | undefined): string {
  if (value === undefined) return "(not set)";
  return value === HIDDEN ? HIDDEN : JSON.stringify(value);
}

/** A document's secret must not appear in a terminal or in the log of a pipeline. */
export function shownDifferences({ what: { kind }, differences }: Step): readonly Difference[] {
  if (!isConfiguredKind(kind)) return differences;
  return differences.map(({ path, from, to }) => ({
    path,
    from: withoutSecrets(kind, path, from),
    to: withoutSecrets(kind, path, to),
  }));
}

function counts({ steps, unchanged }: ApplyPlan): string {
  const of = (action: Step["action"]): number => steps.filter((step) => step.action === action).length;
  return `${of("create")} created, ${of("change")} changed, ${of("remove")} deleted, ${unchanged} unchanged`;
}

function report(plan: ApplyPlan, done: number, failure: Error | null, dryRun: boolean): unknown {
  const changes = plan.steps.map((step, index) => {
    const { kind, tenant, project, name } = step.what;
    const differences = step.action === "change" ? shownDifferences(step) : [];
    return {
      action: step.action,
      kind,
      tenant,
      project,
      name,
      differences: differences.map(({ path, from = null, to = null }) => ({ path, from, to })),
      done: index < done,
    };
  });
  return {
    dry_run: dryRun,
    unchanged: plan.unchanged,
    changes,
    read_only: plan.readOnly.map(titleOf),
    error: failure?.message ?? null,
  };
}
