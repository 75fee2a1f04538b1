// docs/metrics.md: every metric that is registered, with its labels and where their values come from.
import { LABELS, type Label } from "../../src/observe/metrics/labels.ts";
import { type MetricListing, openMetrics } from "../../src/observe/metrics/metrics.ts";
import { code, codeList, generatedMark, table } from "./markdown.ts";

/** Throws for a label that labels.ts does not explain. */
export function metricsPage(): string {
  const metrics = openMetrics().listing();
  const used = [...new Set(metrics.flatMap(({ labels }) => labels))];
  const sections = [
    `## Metrics\n\n${table(
      ["metric", "type", "labels", "unit", "meaning"],
      metrics.map((metric) => [code(metric.name), metric.type, codeList(metric.labels), unitOf(metric), metric.help]),
    )}`,
    `## Labels\n\n${LABEL_WORDS}\n\n${table(
      ["label", "values", "at most"],
      used.map((name) => [code(name), labelOf(name).values, boundOf(labelOf(name))]),
    )}`,
    `## Buckets\n\n${table(
      ["histogram", "unit", "upper bounds"],
      metrics
        .filter(({ type }) => type === "histogram")
        .map((metric) => [code(metric.name), unitOf(metric), metric.buckets.join(", ")]),
    )}`,
  ];
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

function labelOf(name: string): Label {
  const label = LABELS[name];
  if (label === undefined)
    throw new Error(`src/observe/metrics/labels.ts does not say what the values of the label ${name} are`);
  return label;
}

function boundOf({ most }: Label): string {
  return most === null ? "these" : String(most);
}

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/tokens_per_second$/, "tokens/s"],
  [/_seconds(_total)?$/, "seconds"],
  [/_bytes(_total)?$/, "bytes"],
  [/_nano_usd_total$/, "10⁻⁹ US dollars"],
  [/_ratio$/, "1 is all of it"],
  [/_tokens_total$/, "tokens"],
  [/_rows(_total)?$/, "rows"],
  [/_calls_(in_flight|waiting|total)$|_open_calls$/, "calls"],
  [/_units$/, "by `unit`"],
  [/_rounds$/, "rounds"],
  [/_(state|writable|away)$/, "0 or 1"],
];

function unitOf({ name }: MetricListing): string {
  return UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? "count";
}

const LABEL_WORDS = `Callers cannot create label values. Values beyond the bound of a label count as \`other\`; to tell more of them apart, use the [log and the records](operations.md#logs).`;

const INTRODUCTION = `${generatedMark("src/observe/metrics/metrics.ts and src/observe/metrics/labels.ts")}
# Metrics

\`GET /metrics\` serves Prometheus' text format to programs on the gateway's machine, operators, and tokens with the permission \`ops\`, or to everyone if \`ops.open\` is true.
[integrations/prometheus.md](integrations/prometheus.md) has a scrape configuration, a dashboard and alerts.

A call is counted when it has ended. [Explained](api.md#explaining-a-call) calls and requests to other paths, such as the admin API, are not counted; requests to
[operations that are not served](api.md#operations-that-are-not-served) count as refused calls. Counters start at 0 with the process. A failed attempt counts
under the target that answered the call in the end, and an answer from the response cache costs nothing, as in [usage reports](prices.md). Those also have the calls that
were in flight when a process was killed, which no metric counts.`;
