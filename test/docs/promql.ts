// As much of PromQL as dashboards and alerts of examples/ use, read strictly: which metrics an expression asks for, whether they and their labels exist, and
// which labels its result has. https://prometheus.io/docs/prometheus/latest/querying/basics/
import { CATALOGUE } from "../../src/core/errors.ts";
import { LABELS } from "../../src/observe/metrics/labels.ts";
import type { MetricListing } from "../../src/observe/metrics/metrics.ts";

/** A series that can be asked for. */
interface Series {
  readonly kind: "counter" | "gauge" | "bucket";
  readonly labels: readonly string[];
}

/** Every series by its name: histograms as their three, and what Prometheus itself adds to each target. */
export function seriesOf(metrics: readonly MetricListing[]): Map<string, Series> {
  const all = new Map<string, Series>([["up", { kind: "gauge", labels: OF_TARGET }]]);
  for (const { name, type, labels: own } of metrics) {
    const labels = [...own, ...OF_TARGET];
    if (type !== "histogram") all.set(name, { kind: type, labels });
    else
      for (const [suffix, kind] of [
        ["_bucket", "bucket"],
        ["_sum", "counter"],
        ["_count", "counter"],
      ] as const)
        all.set(`${name}${suffix}`, { kind, labels: kind === "bucket" ? [...labels, "le"] : labels });
  }
  return all;
}
const OF_TARGET = ["instance", "job"];

/** A number, or series with these labels. */
type Result = { readonly labels: readonly string[] } | "number";

const AGGREGATIONS = new Set(["sum", "max", "min", "avg", "count", "topk"]);
const OVER_RANGE = new Set(["rate", "increase"]);
const ORDER: readonly (readonly string[])[] = [
  ["or"],
  ["and", "unless"],
  ["==", "!=", ">", "<", ">=", "<="],
  ["+", "-"],
  ["*", "/"],
];
const TOKEN =
  /\s*(?:("[^"]*")|(\d+(?:\.\d+)?(?:e\d+)?(?![\w.]))|([a-zA-Z_:][\w:]*)|(=~|!~|==|!=|>=|<=|[-+*/(){},=<>])|\[([^\]]+)\])/gy;

type Token = { readonly kind: "text" | "number" | "word" | "mark" | "range"; readonly text: string };

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  let end = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const at = match.slice(1).findIndex((part) => part !== undefined);
    tokens.push({ kind: (["text", "number", "word", "mark", "range"] as const)[at]!, text: match[at + 1]! });
    end = TOKEN.lastIndex;
  }
  if (text.slice(end).trim() !== "")
    throw new Error(`cannot be read from ${JSON.stringify(text.slice(end, end + 20))} on`);
  return tokens;
}

/** The labels of what an expression gives. Throws an Error that says what is wrong with it. */
export function resultOf(text: string, series: ReadonlyMap<string, Series>): readonly string[] {
  const tokens = tokensOf(text);
  let at = 0;
  const isMark = (mark: string): boolean => tokens[at]?.kind === "mark" && tokens[at]!.text === mark;
  const take = (): Token => {
    const token = tokens[at++];
    if (token === undefined) throw new Error("ends too early");
    return token;
  };
  const expect = (mark: string): void => {
    const token = take();
    if (token.text !== mark) throw new Error(`expected ${mark} and not ${token.text}`);
  };
  const names = (): readonly string[] => {
    const list: string[] = [];
    expect("(");
    while (!isMark(")")) {
      list.push(take().text);
      if (isMark(",")) take();
    }
    expect(")");
    return list;
  };
  const binary = (level: number): Result => {
    const operators = ORDER[level];
    if (operators === undefined) return primary();
    let left = binary(level + 1);
    while (at < tokens.length && operators.includes(tokens[at]!.text) && tokens[at]!.kind !== "text") {
      const operator = take().text;
      left = matched(left, binary(level + 1), operator);
    }
    return left;
  };
  const primary = (): Result => {
    if (isMark("(")) {
      take();
      const inner = binary(0);
      expect(")");
      return inner;
    }
    const { kind, text: word } = take();
    if (kind === "number") return "number";
    if (kind !== "word") throw new Error(`did not expect ${word}`);
    if (AGGREGATIONS.has(word)) return aggregation(word);
    if (word === "histogram_quantile") return quantile();
    if (OVER_RANGE.has(word)) {
      expect("(");
      const inner = selector(take().text, "range");
      expect(")");
      return inner;
    }
    return selector(word, "now");
  };
  const aggregation = (word: string): Result => {
    const by = tokens[at]?.text === "by" ? (take(), names()) : [];
    expect("(");
    if (word === "topk") {
      take();
      expect(",");
    }
    const inner = labelsOf(binary(0));
    expect(")");
    const missing = by.filter((label) => !inner.includes(label));
    if (missing.length > 0) throw new Error(`${word} by ${missing.join(", ")}, which its series do not have`);
    return { labels: word === "topk" ? inner : by };
  };
  const quantile = (): Result => {
    expect("(");
    if (take().kind !== "number") throw new Error("histogram_quantile needs a number first");
    expect(",");
    const inner = labelsOf(binary(0));
    expect(")");
    if (!inner.includes("le")) throw new Error("histogram_quantile needs buckets by le");
    return { labels: inner.filter((label) => label !== "le") };
  };
  const selector = (name: string, when: "now" | "range"): Result => {
    const found = series.get(name);
    if (found === undefined) throw new Error(`there is no metric ${name}`);
    if (isMark("{")) {
      take();
      while (!isMark("}")) {
        const label = take().text;
        const operator = take().text;
        const value = JSON.parse(take().text) as string;
        if (!found.labels.includes(label)) throw new Error(`${name} has no label ${label}`);
        requireValue(label, operator, value);
        if (isMark(",")) take();
      }
      expect("}");
    }
    const hasRange = tokens[at]?.kind === "range";
    if (hasRange) {
      const range = take().text;
      if (!/^(\d+[smh]|\$__rate_interval)$/.test(range)) throw new Error(`${range} is no range`);
    }
    if (hasRange !== (when === "range"))
      throw new Error(`${name} ${hasRange ? "has a range outside of rate" : "needs a range in rate"}`);
    if ((found.kind === "gauge") === hasRange)
      throw new Error(
        `${name} is a ${found.kind} and ${hasRange ? "has no rate" : "says something by its rate alone"}`,
      );
    return { labels: found.labels };
  };
  const result = labelsOf(binary(0));
  if (at < tokens.length) throw new Error(`goes on with ${tokens[at]!.text}`);
  return result;
}

function labelsOf(result: Result): readonly string[] {
  if (result === "number") throw new Error("a number stands where series are expected");
  return result.labels;
}

/** Series of both sides find each other by the same labels, or there is no result at all. */
function matched(left: Result, right: Result, operator: string): Result {
  if (left === "number") return right;
  if (right === "number") return left;
  if (left.labels.toSorted().join() !== right.labels.toSorted().join())
    throw new Error(`${operator} between series by (${left.labels.join(", ")}) and by (${right.labels.join(", ")})`);
  return left;
}

const WORDS: Readonly<Record<string, readonly string[]>> = {
  code: [...Object.keys(CATALOGUE), "none", "superseded"],
  status: ["200", ...new Set(Object.values(CATALOGUE).map(({ status }) => String(status)))],
};

/** Values that the label never has match nothing, which goes unnoticed. */
function requireValue(label: string, operator: string, value: string): void {
  const known =
    WORDS[label] ??
    (LABELS[label]?.most === null ? [...LABELS[label].values.matchAll(/`([^`]+)`/g)].map(([, word]) => word!) : null);
  if (known === null || value.startsWith("$")) return;
  const parts = operator.endsWith("~") ? value.split("|") : [value];
  const wrong = parts.filter(
    (part) => !known.some((word) => (operator.endsWith("~") ? new RegExp(`^(?:${part})$`).test(word) : word === part)),
  );
  if (wrong.length > 0) throw new Error(`${label} is never ${wrong.join(", ")}`);
}
