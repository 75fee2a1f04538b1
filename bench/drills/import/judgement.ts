// Judges an import by where calls go: for each name that clients of the other gateway ask for, calls of that name are
// played with `simulate` against what was imported, while all targets are healthy and while those of the first choice
// fail, and compared with what the other gateway's file says (expectations.ts).
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { simulation } from "../../../src/cli/simulate.ts";
import { readEnvironment } from "../../../src/config/environment.ts";
import { ConfigurationError } from "../../../src/config/problem.ts";
import type { Report } from "../../../src/diagnostics/simulation/report.ts";
import { PROVIDER_FAMILIES } from "../../../src/process/parts/provider-families.ts";
import type { GatewayName } from "../../../src/import/gateway-names.ts";
import { importConfiguration, type Imported } from "../../../src/import/import-configuration.ts";
import { writeImport } from "../../../src/import/write-import.ts";
import { ANY_MODEL, type Expected, expectationsOf } from "./expectations.ts";

const CALLS = 600;
/** No two calls at once, and no breaker open for long. */
const EVERY_MS = 5000;
const TOLERANCE = 0.08;
const ROUTE = "imported";

/** `absent` is a difference that the report of the import tells. */
export type Word = "same" | "absent" | "differ";

export interface Judgement {
  readonly word: Word;
  /** The difference; empty for none. */
  readonly what: string;
}

export interface JudgedImport {
  readonly imported: Imported;
  /** One for each name. */
  readonly judgements: readonly Judgement[];
}

/** Writes files into the folder `out`, which must not exist yet. Throws ConfigurationError for a file that is refused. */
export function judgeImport(gateway: GatewayName, file: string, text: string, out: string): JudgedImport {
  const imported = importConfiguration({
    gateway,
    file,
    text,
    folder: out,
    families: PROVIDER_FAMILIES,
    choices: { name: ROUTE, models: gateway === "portkey" ? [ANY_MODEL] : [], providers: providersIn(text) },
  });
  writeImport(out, { ...imported, configuration: completed(imported) }, "# Made to be judged.");
  const expectations = expectationsOf(gateway, text, ROUTE);
  return { imported, judgements: expectations.map((expected) => judged(out, expected, imported.report)) };
}

/** With what a person would set before the first call, and without times: the drill judges where calls go, not how fast. */
function completed({ configuration, needs }: Imported): Imported["configuration"] {
  const { providers = {}, routes = {}, route_defaults: defaults } = structuredClone(configuration) as Sections;
  for (const { place } of needs.settings) {
    const [, id, name] = place.split(".");
    providers[id!]![name!] = "drill";
  }
  for (const route of [...Object.values(routes), ...(defaults === undefined ? [] : [defaults])])
    delete route["timeouts"];
  return { ...configuration, providers, routes, ...(defaults !== undefined && { route_defaults: defaults }) };
}

interface Sections {
  readonly providers?: Record<string, Record<string, unknown>>;
  readonly routes?: Record<string, Record<string, unknown>>;
  readonly route_defaults?: Record<string, unknown>;
}

/** Names of accounts that say nothing of their provider: a person would name them with --provider. */
function providersIn(text: string): ReadonlyMap<string, string> {
  return new Map(Array.from(text.matchAll(/"@?([a-z]{2})"/g), ([, name]) => [name!, "openai"]));
}

type Lines = Imported["report"];

function judged(out: string, expected: Expected, lines: Lines): Judgement {
  const file = join(out, "dragoman.yaml");
  const name = nameHere(expected.asked, lines);
  const report = played(file, name, []);
  if (typeof report === "string" || report.totals.succeeded === 0) {
    const why = typeof report === "string" ? report : Object.keys(report.totals.failures).join(", ");
    // a target that was left out, or whose calls need a permission, is named by the report
    const isSaid = lines.some(({ outcome, note }) => outcome === "without" || note?.includes("byo_endpoint") === true);
    return { word: isSaid ? "absent" : "differ", what: `${expected.asked} is not served: ${why}` };
  }
  const first = answering(report);
  const problem = firstProblem(first, expected) ?? laterProblem(file, name, first, expected);
  if (problem === null) return { word: "same", what: "" };
  const isSaid = lines.some(
    ({ outcome, path }) => outcome === "without" && /model|target|fallback|strategy/.test(path),
  );
  return { word: isSaid ? "absent" : "differ", what: `${expected.asked}: ${problem}` };
}

/** The route that the report names for a name that no route can have. */
function nameHere(asked: string, lines: Lines): string {
  const plain = asked.replaceAll(/[^A-Za-z0-9_.-]+/g, "-");
  const isRenamed = lines.some(
    ({ outcome, to, note }) => outcome === "changed" && to === `routes.${plain}` && note?.includes(plain) === true,
  );
  return isRenamed ? plain : asked;
}

/** A text says why no call can be made. */
function played(file: string, model: string, faults: readonly string[]): Report | string {
  const traffic = join(dirname(file), "traffic.json");
  const calls = [{ model, count: CALLS, every_ms: EVERY_MS, num_retries: 0 }];
  const failing = faults.map((target) => ({ target, kind: "status", status: 503 }));
  writeFileSync(traffic, JSON.stringify({ calls, faults: failing }));
  try {
    return simulation(file, { traffic }, readEnvironment({}));
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return thrown.problems[0]?.message ?? "";
  }
}

/** The targets that answered, with their parts of the calls. */
function answering({ targets, totals }: Report): ReadonlyMap<string, number> {
  return new Map(
    targets.flatMap(({ target, successes }) => (successes === 0 ? [] : [[target, successes / totals.succeeded]])),
  );
}

/** How well a target fits a model as the other gateway writes it; 0 for not at all. */
function fit(target: string, model: string): number {
  const at = target.indexOf(":");
  const [id, name] = [target.slice(0, at), target.slice(at + 1)] as const;
  if (model === `${id.replace(/-\d+$/, "")}/${name}`) return 3;
  if (model === name) return 2;
  return model.endsWith(`/${name}`) ? 1 : 0;
}

function modelOf(target: string, models: readonly string[]): string | null {
  const best = models.toSorted((a, b) => fit(target, b) - fit(target, a))[0];
  return best === undefined || fit(target, best) === 0 ? null : best;
}

function firstProblem(first: ReadonlyMap<string, number>, expected: Expected): string | null {
  const models = [...expected.first.keys()];
  for (const target of first.keys())
    if (modelOf(target, models) === null) return `${target} gets calls, but the file has ${models.join(", ")}`;
  for (const [model, share] of expected.first) {
    const part = [...first].reduce((sum, [target, each]) => sum + (modelOf(target, models) === model ? each : 0), 0);
    if (share !== null && Math.abs(part - share) > TOLERANCE)
      return `${model} gets ${part.toFixed(2)} of the calls, and ${share.toFixed(2)} by the file`;
  }
  return null;
}

function laterProblem(
  file: string,
  name: string,
  first: ReadonlyMap<string, number>,
  { later }: Expected,
): string | null {
  if (later.length === 0) return null;
  const report = played(file, name, [...first.keys()]);
  const targets = typeof report === "string" ? new Map<string, number>() : answering(report);
  if (targets.size === 0) return `no call is answered while ${[...first.keys()].join(", ")} fail`;
  const other = [...targets.keys()].find((target) => modelOf(target, later) === null);
  return other === undefined ? null : `${other} is a fallback, but the file has ${later.join(", ")}`;
}
