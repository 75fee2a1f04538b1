// No caller can create a series, however many calls it makes; and a scrape of all possible series delays no call.
import { expect, test } from "bun:test";
import { cataloguedModels } from "../../../src/accounting/model-catalogue.ts";
import { openModelNames } from "../../../src/accounting/model-names.ts";
import { CATALOGUE, type ErrorCode } from "../../../src/core/errors.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { LABELS, MOST } from "../../../src/observe/metrics/labels.ts";
import { type Metrics, openMetrics } from "../../../src/observe/metrics/metrics.ts";
import { routesSeen } from "../../../src/routing/compile-routes.ts";
import { BUILT_IN_MODELS, providers } from "../../../src/providers/registry.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { longestTurnShare, timesAsMuch } from "../../harness/time/cpu-time.ts";

const MESSAGES = [{ role: "user", content: "one two three" }];
const CODES = Object.keys(CATALOGUE) as ErrorCode[];

function gatewayWithMetrics(options: StubOptions = {}) {
  const gateway = stubGateway(options);
  const names = openModelNames(() => gateway.context.snapshot(), { providers, builtIn: BUILT_IN_MODELS });
  const metrics = openMetrics({
    modelLabel: (call) => names.nameOf(call),
    isNamedTarget: (target) => names.isNamed(target),
    isRegisteredServer: (_, label) => label === "registered",
  });
  return { gateway, metrics };
}

test("[d9.5] every model that a route names has its own label: targets, the mirror, and what each kind of fallback leads to", () => {
  const route = {
    targets: ["sandbox:a/b"],
    mirror: { target: "sandbox/mirror", other_vendors: false, max_in_flight: 1, timeout_ms: 1 },
    fallbacks: ["sandbox:org/fallback", { model: "sandbox/org:fallback" }, "route:other"],
    content_policy_fallbacks: ["sandbox:milder"],
    context_window_fallbacks: { a: "sandbox:org/longer" },
  };
  const routes = routesSeen([{ routes: { r: route, other: { targets: ["sandbox:other"] } }, defaults: {} }]);
  const { gateway } = gatewayWithMetrics({ snapshot: { routes } });
  const names = openModelNames(() => gateway.context.snapshot(), { providers, builtIn: BUILT_IN_MODELS });
  const named = (model: string) => names.nameOf({ tenantId: null, projectId: null, provider: "sandbox", model });
  for (const model of ["a/b", "mirror", "org/fallback", "org:fallback", "milder", "org/longer", "other"])
    expect([model, named(model)]).toEqual([model, { name: model, isConfigured: true }]);
  expect(named("unknown")).toBeNull();
});

const seriesOf = (text: string): readonly string[] =>
  text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

/** Series of each metric that labels with these bounds allow, by what the tables of labels and metrics say. */
function mostSeries(metrics: Metrics): number {
  const pairs = MOST.configuredModel + MOST.cataloguedModel + 2 * MOST.provider;
  const valuesOf = (label: string): number =>
    (LABELS[label]!.most ?? LABELS[label]!.values.match(/`\w+`/g)!.length) + 2;
  return metrics.listing().reduce((sum, { type, labels, buckets }) => {
    const others = labels
      .filter((label) => label !== "provider" && label !== "model")
      .reduce((product, label) => product * valuesOf(label), 1);
    const owners = labels.includes("model") ? pairs : labels.includes("provider") ? MOST.provider + 2 : 1;
    return sum + owners * others * (type === "histogram" ? buckets.length + 3 : 1);
  }, 0);
}

test("[d9.5] 100,000 calls of a caller with invented names put no such name into a label, and create no more series than the bounds", async () => {
  const { gateway, metrics } = gatewayWithMetrics();
  await (await gateway.chat({ model: "sandbox:echo", messages: MESSAGES, stream: true })).text();
  const [template] = gateway.records as readonly [CallRecord];
  const ids = [...providers.keys()];
  // a caller with a key and an address of its own can ask for every name of every provider, and for invented names
  const catalogued = [...providers.values()].flatMap((provider) =>
    cataloguedModels(provider).map((model) => [provider.id, model] as const),
  );
  expect(catalogued.length).toBeGreaterThan(MOST.cataloguedModel * 2);
  for (let index = 0; index < 100_000; index++) {
    const isMadeUp = index % 3 > 0;
    const [provider, model] = isMadeUp
      ? [ids[index % ids.length]!, `hostile-${index}`]
      : catalogued[index % catalogued.length]!;
    const code = index % 2 === 0 ? null : CODES[index % CODES.length]!;
    metrics.publish({
      ...template,
      provider,
      model,
      code,
      status: code === null ? 200 : CATALOGUE[code].status,
      stream: index % 4 < 2,
      modelAsked: `hostile-${index}`,
      endUser: `hostile-${index}`,
      clientRequestId: `hostile-${index}`,
      metadata: { [`hostile-${index}`]: "hostile" },
      cancelled: index % 7 === 0,
      attempts: [{ ...template.attempts[0]!, provider, model, code, nativeCode: `hostile-${index}` }],
      tools: [
        {
          callId: `hostile-${index}`,
          server: `hostile-${index}`,
          tool: `hostile-${index}`,
          round: 1,
          startMs: 1,
          totalMs: 2,
          code: null,
          isError: false,
          resultBytes: 1,
          spanId: null,
        },
      ],
    });
  }
  const text = await metrics.text();
  expect(text).not.toContain("hostile");
  const series = seriesOf(text);
  console.log(
    `${series.length} series, ${Math.round(text.length / 1024)} KiB, of ${mostSeries(metrics)} that the tables allow`,
  );
  expect(series.length).toBeLessThanOrEqual(mostSeries(metrics));
  expect(series.length).toBeLessThan(40_000);
  expect(text).toContain('server="other"');
  const pairs = new Set(
    series
      .filter((line) => line.startsWith("dragoman_call_duration_seconds_count{"))
      .map((line) => line.split("}")[0]!),
  );
  expect(pairs.size).toBeLessThanOrEqual(MOST.configuredModel + MOST.cataloguedModel + 2 * providers.size);
  // nothing is lost: what has no label of its own is counted as other
  const total = series
    .filter((line) => line.startsWith("dragoman_calls_total{"))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  expect(total).toBe(100_000);
});

test("[d9.5] real calls with addresses, keys and lists of models of the caller's own create no label either", async () => {
  const answer = {
    id: "x",
    object: "chat.completion",
    created: 1,
    model: "whatever",
    choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
  const { gateway, metrics } = gatewayWithMetrics({
    upstream: cannedUpstream({ headers: { "content-type": "application/json" }, body: JSON.stringify(answer) }),
  });
  const statuses = new Set<number>();
  for (let index = 0; index < 60; index++) {
    const model = `hostile-${index}`;
    const own = { api_key: "k", base_url: "https://198.51.100.7/v1" };
    const requests = [
      { model: `openai:${model}`, ...own },
      { model, model_list: [{ model_name: model, params: { model: `openai:${model}`, ...own } }] },
      { model: `${model}:${model}`, ...own },
      { model: "openai:gpt-4o", route: model },
      {
        model: "openai:gpt-4o",
        user: model,
        metadata: { [model]: model },
        tools: [{ type: "mcp", server_label: model }],
      },
    ];
    for (const request of requests) {
      const response = await gateway.chat({ messages: MESSAGES, ...request });
      statuses.add(response.status);
      await response.text();
    }
  }
  for (const record of gateway.records) metrics.publish(record);
  expect([...statuses]).toEqual(expect.arrayContaining([200, 404]));
  const text = await metrics.text();
  expect(text).not.toContain("hostile");
  expect(text).toMatch(/dragoman_calls_total\{provider="openai",model="other",status="200",stream="false"\} 120\n/);
});

test("[d9.5] one caller's invented names do not displace configured names", async () => {
  const metrics = openMetrics({
    modelLabel: ({ model }) => (model === null ? null : { name: model, isConfigured: model.startsWith("ours") }),
  });
  const gateway = stubGateway();
  await (await gateway.chat({ model: "sandbox:echo", messages: MESSAGES })).text();
  const [template] = gateway.records as readonly [CallRecord];
  for (let index = 0; index < 2000; index++) metrics.publish({ ...template, model: `catalogued-${index}` });
  metrics.publish({ ...template, model: "ours" });
  const text = await metrics.text();
  expect(text).toContain('model="ours"');
  expect(text).toContain('model="other"');
  expect(text.match(/dragoman_calls_total\{/g)).toHaveLength(MOST.cataloguedModel + 2);
});

test("[d9.5] a scrape of a full registry takes a bounded time, and yields to other work meanwhile", async () => {
  const gateway = stubGateway();
  await (await gateway.chat({ model: "sandbox:words-20", messages: MESSAGES, stream: true })).text();
  const [template] = gateway.records as readonly [CallRecord];
  const metrics = openMetrics({
    modelLabel: ({ model }) => ({ name: model!, isConfigured: Number(model!.slice(1)) % 2 === 0 }),
  });
  const outcome = {
    value: "",
    unit: "requests",
    before: 0,
    reserved: 1,
    settled: 1,
    after: 1,
    wouldRefuse: true,
    refused: "rate_limit_exceeded",
  } as const;
  for (let index = 0; index < 12_000; index++) {
    const code = index % 3 === 0 ? CODES[index % 40]! : null;
    const status = code === null ? 200 : CATALOGUE[code].status;
    metrics.publish({
      ...template,
      model: `m${index % 600}`,
      provider: `p${index % 200}`,
      route: `r${index % 300}`,
      code,
      status,
      limits: [{ ...outcome, id: `limit${index % 700}` }],
      totalMs: index,
      firstContentMs: index / 2,
    });
  }
  let text = "";
  const share = await longestTurnShare(async () => (text = await metrics.text()));
  console.log(`${seriesOf(text).length} series, at most ${Math.round(share * 100)} % of the time in one turn`);
  expect(seriesOf(text).length).toBeGreaterThan(20_000);
  expect(share).toBeLessThan(0.5);
  // Reading the text line by line costs about a twentieth.
  const read = (): unknown => seriesOf(text);
  expect(await timesAsMuch(() => metrics.text(), read, 200)).toBeLessThan(200);
});
