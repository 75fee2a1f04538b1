// `dragoman check`: a valid file, warnings of routes whose time limits leave their fallbacks no time, and of limits,
// budgets and policies that name nothing.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "bun:test";
import { runHere } from "../harness/processes/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-check-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function warningsOf(text: string): Promise<readonly string[]> {
  const file = join(folder, "dragoman.yaml");
  writeFileSync(file, text);
  const { code, stdout } = await runHere(["check", file, "--json"], {}, folder);
  const { ok, problems, warnings } = JSON.parse(stdout) as Record<string, any>;
  expect([code, ok, problems]).toEqual([0, true, []]);
  return warnings.map(({ path }: Record<string, any>) => path);
}
const route = (settings: string): string => `routes:\n  r: {targets: [openai:a], ${settings}}\n`;

test("[d7.10] warns of a route whose limits leave its fallbacks no time, and of no other", async () => {
  const fallback = "fallbacks: [gemini:g]";
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [fallback, []],
    [`${fallback}, timeouts: {first_byte_ms: 599999}`, []],
    [`${fallback}, timeouts: {first_byte_ms: 600000}`, ["routes.r.timeouts.first_byte_ms"]],
    [`${fallback}, timeouts: {first_token_ms: 30000, total_ms: 30000}`, ["routes.r.timeouts.first_token_ms"]],
    [`${fallback}, timeouts: {first_byte_ms: 10000, first_token_ms: 30000, total_ms: 30000}`, []],
    [`${fallback}, timeouts: {connect_ms: 5000, total_ms: 5000}`, ["routes.r.timeouts.connect_ms"]],
    [`${fallback}, timeouts: {total_ms: 5000}`, []],
    // with one target there is nothing that would need time
    ["timeouts: {first_byte_ms: 600000}", []],
    [`${fallback}, retries: 2, timeouts: {first_byte_ms: 200000}`, []],
    [
      `${fallback}, retries: 2, retry_timeouts: true, timeouts: {first_byte_ms: 200000}`,
      ["routes.r.timeouts.first_byte_ms"],
    ],
  ];
  for (const [settings, paths] of cases)
    expect([settings, await warningsOf(route(settings))]).toEqual([settings, paths]);
  const three = "routes: {r: {targets: [openai:a, openai:b, openai:c], timeouts: {first_byte_ms: 300000}}}\n";
  expect(await warningsOf(three)).toEqual(["routes.r.timeouts.first_byte_ms"]);
  const inherited = `route_defaults: {timeouts: {first_byte_ms: 60000}}\nserver: {default_timeout_s: 60}\n${route(fallback)}`;
  expect(await warningsOf(inherited)).toEqual(["routes.r"]);
  const tenant = `tenants: {acme: {routes: {r: {targets: [openai:a], ${fallback}, timeouts: {first_byte_ms: 700000}}}}}\n`;
  expect(await warningsOf(tenant)).toEqual(["tenants.acme.routes.r.timeouts.first_byte_ms"]);
});

test("[d4.6] warns of a budget that leads calls to a model or route that the file does not have, and of no other", async () => {
  const budget = (to: string): string =>
    `{b: {usd: "5", window: day, thresholds: [50, {percent: 80, degrade_to: "${to}"}]}}`;
  const routes = "routes: {small: {targets: [openai:a]}}\n";
  const path = "budgets.b.thresholds[1].degrade_to";
  expect(await warningsOf(`${routes}budgets: ${budget("route:smal")}\n`)).toEqual([path]);
  expect(await warningsOf(`${routes}budgets: ${budget("opnai:a")}\n`)).toEqual([path]);
  for (const to of ["route:small", "openai:a", "sandbox:echo"])
    expect(await warningsOf(`${routes}projects: {site: {budgets: ${budget(to)}}}\n`)).toEqual([]);
  expect(await warningsOf(`tenants: {acme: {${routes.trim()}}, beta: {budgets: ${budget("route:small")}}}\n`)).toEqual([
    `tenants.beta.${path}`,
  ]);
  expect(await warningsOf(`tenants: {acme: {${routes.trim()}}}\nbudgets: ${budget("route:small")}\n`)).toEqual([]);
});

test("[d3.1, d4.1] warns of limits, budgets and policies that apply to no call because of a name, and of no other", async () => {
  const routes = "routes: {small: {targets: [openai:a]}}\n";
  const sections = (scope: string): string =>
    [
      `limits: {l: {metric: requests, window: minute, limit: 1, scope: ${scope}}}`,
      `budgets: {b: {usd: "5", window: day, scope: ${scope}}}`,
      `policies: {p: {rule: "true", message: No, scope: ${scope}}}\n`,
    ].join("\n");
  for (const [scope, name] of [
    ["{route: smal}", "route"],
    ["{provider: opnai}", "provider"],
    ['{model: "opnai:gpt-4o"}', "model"],
    ["{model: opnai/gpt-4o}", "model"],
    ["{model: gpt-4o}", "model"],
  ] as const)
    expect(await warningsOf(routes + sections(scope))).toEqual(
      ["limits.l", "budgets.b", "policies.p"].map((place) => `${place}.scope.${name}`),
    );
  for (const scope of ["{route: small, provider: openai}", "{route: direct}", '{route: "s*", model: "op*:x"}'])
    expect(await warningsOf(routes + sections(scope))).toEqual([]);
});

test("[d7.10] says the warning in a line, and that the file is valid", async () => {
  const file = join(folder, "dragoman.yaml");
  writeFileSync(file, route("fallbacks: [gemini:g], timeouts: {first_byte_ms: 600000}"));
  const { code, stdout } = await runHere(["check", file], {}, folder);
  expect([code, stdout.split("\n").length]).toEqual([0, 3]);
  expect(stdout).toMatch(/^warning: .*dragoman\.yaml routes\.r\.timeouts\.first_byte_ms: with this first_byte_ms/);
  expect(stdout).toContain("is valid.");
});
