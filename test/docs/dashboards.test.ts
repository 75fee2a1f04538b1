// The dashboard, the alerts and the rules of examples/ use metrics, labels and values that exist, and print only
// existing labels.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CATALOGUE } from "../../src/core/errors.ts";
import { openMetrics } from "../../src/observe/metrics/metrics.ts";
import { isProvidersFault } from "../../src/routing/plan/verdict.ts";
import { projectFolder, readPage } from "./pages.ts";
import { resultOf, seriesOf } from "./promql.ts";

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}
interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}
interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const textOf = (path: string): string => readFileSync(join(projectFolder, "examples", path), "utf8");
const rulesOf = (path: string): readonly Rule[] =>
  (Bun.YAML.parse(textOf(path)) as Rules).groups.flatMap(({ rules }) => rules);
const recording = rulesOf("prometheus/recording.yaml");
const alerts = rulesOf("prometheus/alerts.yaml");
const dashboard = JSON.parse(textOf("grafana/dragoman.json")) as Dashboard;

const exposed = seriesOf(openMetrics().listing());
const recorded = new Map([
  ...exposed,
  ...recording.map(({ record, expr }) => [record!, { kind: "gauge", labels: resultOf(expr, exposed) }] as const),
]);

test("every rule records a series with a name of its own, by labels that exist", () => {
  expect(recording.length).toBeGreaterThan(5);
  for (const { record } of recording) expect(record).toMatch(/^dragoman:[a-z_]+:[a-z0-9_]+$/);
  expect(new Set(recording.map(({ record }) => record)).size).toBe(recording.length);
  // what is recorded and asked for nowhere costs memory for nothing, unless the page names it
  const page = readPage("docs/integrations/prometheus.md").text;
  for (const { record } of recording)
    expect([record, alerts.some(({ expr }) => expr.includes(record!)) || page.includes(record!)]).toEqual([
      record,
      true,
    ]);
});

describe("alerts", () => {
  test.each(alerts.map((alert) => [alert.alert!, alert] as const))(
    "%s",
    (name, { expr, labels = {}, annotations = {}, for: duration }) => {
      const result = resultOf(expr, recorded);
      expect(name).toMatch(/^Dragoman[A-Z]\w+$/);
      expect(["critical", "warning", "info"]).toContain(labels["severity"]!);
      if (duration !== undefined) expect(duration).toMatch(/^\d+[mh]$/);
      const named = [
        ...Object.values(annotations)
          .join(" ")
          .matchAll(/\$labels\.(\w+)/g),
      ].map(([, label]) => label!);
      expect(named.filter((label) => !result.includes(label))).toEqual([]);
      expect(annotations["summary"]).toMatch(/\.$/);
    },
  );
  test("each has a name of its own, and a line on the page", () => {
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    const page = readPage("docs/integrations/prometheus.md").text;
    expect(alerts.filter(({ alert }) => !page.includes(`\`${alert!}\``)).map(({ alert }) => alert)).toEqual([]);
  });
});

describe("the dashboard", () => {
  const targets = dashboard.panels.flatMap(({ title, targets: own = [] }) =>
    own.map((target) => [title, target.expr, target.legendFormat] as const),
  );
  test("has something to show", () => expect(targets.length).toBeGreaterThan(25));
  test.each(targets)("%s: %s", (_, expr, legend) => {
    const result = resultOf(expr, exposed);
    const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!);
    expect(named.filter((label) => !result.includes(label))).toEqual([]);
  });
  test("its variables ask for existing labels, and its panels use no others", () => {
    const names = new Set(dashboard.templating.list.map(({ name }) => name));
    for (const { definition } of dashboard.templating.list) {
      if (definition === undefined) continue;
      const [, metric, label] = /^label_values\((\w+)(?:\{[^}]*\})?, (\w+)\)$/.exec(definition)!;
      expect(exposed.get(metric!)!.labels).toContain(label!);
    }
    const used = new Set(
      [
        ...targets
          .map(([, expr]) => expr)
          .join(" ")
          .matchAll(/\$(\w+)/g),
      ].map(([, name]) => name!),
    );
    expect([...used].filter((name) => name !== "__rate_interval" && !names.has(name))).toEqual([]);
  });
  test("its panels do not cover each other", () => {
    const cells = new Set<string>();
    for (const {
      gridPos: { x, y, w, h },
      title,
    } of dashboard.panels) {
      expect([title, x + w <= 24]).toEqual([title, true]);
      for (let column = x; column < x + w; column++)
        for (let row = y; row < y + h; row++) {
          expect([title, cells.has(`${column} ${row}`)]).toEqual([title, false]);
          cells.add(`${column} ${row}`);
        }
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});

test("requests that the gateway or a client has ended are no failures of a provider", () => {
  const asked = [...recording, ...alerts, ...dashboard.panels.flatMap(({ targets = [] }) => targets)];
  const failed = asked.filter(({ expr }) => /dragoman_attempts_total\{[^}]*code!~/.test(expr));
  expect(failed.length).toBeGreaterThan(0);
  for (const { expr } of failed) expect(expr).toContain('code!~"none|superseded|client_closed"');
});

test("[d9.9] what a provider refuses of a request, and that its rate limit is reached, is no failure of the provider", () => {
  const { expr } = recording.find(({ record }) => record === "dragoman:attempts_failed:ratio_rate5m")!;
  const [, codes] = /code=~"([^"]*)"/.exec(expr) ?? [];
  expect(codes?.split("|").toSorted()).toEqual(Object.keys(CATALOGUE).filter(isProvidersFault).toSorted());
  for (const { expr: own } of alerts.filter(({ alert }) => alert === "DragomanProviderFails"))
    expect(own).toStartWith("dragoman:attempts_failed:ratio_rate5m > ");
});

test("mistakes are detected", () => {
  const wrong: Readonly<Record<string, string>> = {
    "rate(dragoman_cals_total[5m])": "no metric dragoman_cals_total",
    'rate(dragoman_calls_total{route="a"}[5m])': "no label route",
    'rate(dragoman_route_calls_total{outcome="failure"}[5m])': "outcome is never failure",
    'rate(dragoman_calls_total{status=~"7.."}[5m])': "status is never 7..",
    "sum by (route) (rate(dragoman_calls_total[5m]))": "by route, which",
    "dragoman_calls_total > 5": "says something by its rate alone",
    "rate(dragoman_calls_in_flight[5m])": "has no rate",
    "histogram_quantile(0.5, sum by (model) (rate(dragoman_own_seconds_bucket[5m])))": "by model, which",
    "histogram_quantile(0.5, sum(rate(dragoman_own_seconds_bucket[5m])))": "needs buckets by le",
    "sum by (model) (rate(dragoman_calls_total[5m])) / sum(rate(dragoman_calls_total[5m]))":
      "between series by (model) and by ()",
    "sum(rate(dragoman_calls_total[5m]": "ends too early",
    "sum(rate(dragoman_calls_total[5m])) %": "cannot be read",
    "dragoman_calls_in_flight dragoman_calls_in_flight": "goes on with",
  };
  for (const [expr, words] of Object.entries(wrong)) expect(() => resultOf(expr, exposed)).toThrow(words);
});
