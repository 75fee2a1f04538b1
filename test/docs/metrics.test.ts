// docs/metrics.md lists the metrics of a running gateway: each with its type, description, labels and buckets, and
// nothing else.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LABELS } from "../../src/observe/metrics/labels.ts";
import { type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { codeWords, readPage, sortedRows, tableBelow } from "./pages.ts";

const page = readPage("docs/metrics.md");
const table = tableBelow(page, "## Metrics").map(([name, type, labels, , help]) => ({
  name: codeWords(name!)[0]!,
  type: type!,
  labels: codeWords(labels!),
  help: help!,
}));

let gateway: GatewayProcess;
let text: string;
beforeAll(async () => {
  gateway = await startGateway();
  for (const model of ["sandbox:echo", "sandbox:fail-500", "sandbox:words-20"])
    await (
      await fetch(`${gateway.url}/api/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.firstToken}`, "content-type": "application/json" },
        body: JSON.stringify({ model, stream: model !== "sandbox:echo", messages: [{ role: "user", content: "a" }] }),
      })
    ).text();
  text = await (await fetch(`${gateway.url}/metrics`)).text();
});
afterAll(() => gateway.stop());

interface Sample {
  readonly name: string;
  readonly labels: readonly string[];
  readonly le: string | null;
}

function samplesOf(exposed: string): readonly Sample[] {
  return exposed
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line)!;
      const names = [...labels.matchAll(/(\w+)="/g)].map(([, label]) => label!);
      return { name, labels: names.filter((label) => label !== "le"), le: /le="([^"]*)"/.exec(labels)?.[1] ?? null };
    });
}

describe("docs/metrics.md and the running process", () => {
  test("have the same metrics, with type and description", () => {
    const help = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, words]) => [name!, words!]));
    const exposed = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [
      name!,
      type!,
      help.get(name!)!,
    ]);
    expect(sortedRows(exposed)).toEqual(sortedRows(table.map(({ name, type, help: words }) => [name, type, words])));
    expect(exposed.length).toBeGreaterThan(30);
  });
  test("have the same labels, and buckets", () => {
    const buckets = new Map(
      tableBelow(page, "## Buckets").map(([name, , bounds]) => [
        codeWords(name!)[0]!,
        [...bounds!.split(", "), "+Inf"],
      ]),
    );
    expect([...buckets.keys()].toSorted()).toEqual(
      table
        .filter(({ type }) => type === "histogram")
        .map(({ name }) => name)
        .toSorted(),
    );
    const samples = samplesOf(text);
    for (const { name, type, labels } of table) {
      const own = samples.filter(
        (sample) => sample.name.replace(type === "histogram" ? /_(bucket|sum|count)$/ : "", "") === name,
      );
      for (const sample of own) expect([name, sample.labels.toSorted()]).toEqual([name, labels.toSorted()]);
      if (type === "histogram" && own.length > 0)
        expect([name, [...new Set(own.flatMap(({ le }) => (le === null ? [] : [le])))]]).toEqual([
          name,
          buckets.get(name)!,
        ]);
    }
    // what the calls above have made
    for (const name of [
      "dragoman_calls_total",
      "dragoman_errors_total",
      "dragoman_route_calls_total",
      "dragoman_first_token_seconds_count",
    ])
      expect(samples.map((sample) => sample.name)).toContain(name);
  });
  test("each label is explained, and each explanation is of a label", () => {
    expect(
      tableBelow(page, "## Labels")
        .map(([label]) => codeWords(label!)[0]!)
        .toSorted(),
    ).toEqual(Object.keys(LABELS).toSorted());
    expect([...new Set(table.flatMap(({ labels }) => labels))].toSorted()).toEqual(Object.keys(LABELS).toSorted());
  });
});
