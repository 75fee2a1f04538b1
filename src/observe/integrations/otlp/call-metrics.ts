// Counts each call for OpenTelemetry: the metrics of its conventions for generative AI
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/), as a client of providers and tool servers and
// as a server of calls, and the gateway's own metrics. The buckets are those of the conventions.
import { type Attempt, type CallRecord, isInFigures, usedBy } from "../../../core/record/record.ts";
import type { ToolRun } from "../../../core/configured/tool.ts";
import { type Attributes, cut } from "./attributes.ts";
import type { Counting, Instrument, MetricSums } from "./metric.ts";
import { conventionalOperation } from "./operation-names.ts";
import { sentStatus, toolErrorType, vendorOf } from "./record-spans.ts";

const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

function histogram(name: string, unit: string, bounds: readonly number[], description: string): Instrument {
  return { name, unit, bounds, description };
}
function counter(name: string, unit: string, description: string): Instrument {
  return { name, unit, bounds: null, description };
}

/** In the order of the documentation. */
export const INSTRUMENTS = {
  clientDuration: histogram(
    "gen_ai.client.operation.duration",
    "s",
    SECONDS,
    "Duration of each attempt at a provider.",
  ),
  clientTokens: histogram(
    "gen_ai.client.token.usage",
    "{token}",
    TOKENS,
    "Tokens of each attempt, as the provider reports them.",
  ),
  clientFirstChunk: histogram(
    "gen_ai.client.operation.time_to_first_chunk",
    "s",
    FIRST_TOKEN_SECONDS,
    "Time from the start of an attempt to its first content, for streams.",
  ),
  toolDuration: histogram("gen_ai.execute_tool.duration", "s", SECONDS, "Duration of each tool run."),
  serverDuration: histogram(
    "gen_ai.server.request.duration",
    "s",
    SECONDS,
    "Time from the arrival of a request to the end of its answer.",
  ),
  serverFirstToken: histogram(
    "gen_ai.server.time_to_first_token",
    "s",
    FIRST_TOKEN_SECONDS,
    "Time from the arrival of a request to the first content sent, for streams that succeeded.",
  ),
  calls: counter("dragoman.calls", "{call}", "Calls by outcome."),
  cancelled: counter("dragoman.calls.cancelled", "{call}", "Calls whose client disconnected before the end."),
  cost: counter("dragoman.cost", "{nano_usd}", "Cost of calls in billionths of a dollar, as far as prices are known."),
  refusals: counter("dragoman.limit.refusals", "{attempt}", "Attempts that a limit or budget refused, by its id."),
  policies: counter("dragoman.policies", "{call}", "Calls in which a policy took effect, by its effect."),
} as const satisfies Readonly<Record<string, Instrument>>;

/**
 * Counts a call. A model is named only if it answered. Callers choose names of models, and tool servers those of their
 * tools; the number of series is bounded, also for each tenant.
 */
export function countCall(record: CallRecord, all: MetricSums): void {
  if (!isInFigures(record)) return;
  const sums = all.of(record.tenantId);
  for (const attempt of record.attempts) {
    const at = placeOf(record, attempt);
    if (!attempt.fromCache) countAttempt(record, attempt, at, sums);
    countTokens(record, attempt, at, sums);
  }
  for (const run of record.tools) countTool(record, run, sums);
  countAnswer(record, sums);
  for (const { id, refused } of record.limits)
    if (refused !== undefined)
      sums.add(INSTRUMENTS.refusals, `${id} ${refused}`, 1, () => ({ "dragoman.limit": id, "error.type": refused }));
  for (const { name, effect } of record.policies)
    sums.add(INSTRUMENTS.policies, `${name} ${effect}`, 1, () => ({
      "dragoman.policy": name,
      "dragoman.policy.effect": effect,
    }));
}

function countAttempt(record: CallRecord, attempt: Attempt, { place, attributes }: AttemptPlace, sums: Counting): void {
  const { stream, totalMs } = record;
  const { code, startMs, firstContentMs } = attempt;
  const key = `${place} ${code}`;
  sums.add(INSTRUMENTS.clientDuration, key, Math.max(0, (attempt.totalMs ?? totalMs) - startMs) / 1000, () =>
    attributes({ "error.type": code ?? undefined }),
  );
  if (stream && firstContentMs !== null)
    sums.add(INSTRUMENTS.clientFirstChunk, key, Math.max(0, firstContentMs - startMs) / 1000, () =>
      attributes({ "error.type": code ?? undefined }),
    );
}

function countTokens(record: CallRecord, attempt: Attempt, { place, attributes }: AttemptPlace, sums: Counting): void {
  const usage = usedBy(attempt, record);
  if (usage === null || attempt.usageSource !== "provider") return;
  sums.add(INSTRUMENTS.clientTokens, `${place} input`, usage.prompt_tokens, () =>
    attributes({ "gen_ai.token.type": "input" }),
  );
  sums.add(INSTRUMENTS.clientTokens, `${place} output`, usage.completion_tokens, () =>
    attributes({ "gen_ai.token.type": "output" }),
  );
}

type AttemptPlace = ReturnType<typeof placeOf>;

function placeOf({ operation }: CallRecord, { provider, vendor, code, model: asked }: Attempt) {
  const model = code === null ? cut(asked) : undefined;
  return {
    place: `${operation} ${provider} ${vendor ?? provider} ${model}`,
    attributes: attributesOf(operation, vendor ?? provider, provider, model),
  };
}

/** What is said of a call or an attempt, and what an instrument says beside it. */
const attributesOf =
  (
    operation: CallRecord["operation"],
    vendor: string | undefined,
    provider: string | null,
    model: string | undefined,
  ) =>
  (more: Attributes = {}): Attributes => ({
    "gen_ai.operation.name": conventionalOperation(operation).name,
    "gen_ai.provider.name": vendor,
    "dragoman.provider": provider ?? undefined,
    "gen_ai.request.model": model,
    "gen_ai.response.model": model,
    ...more,
  });

/** The tool server chooses the names of its tools. */
function countTool({ totalMs }: CallRecord, run: ToolRun, sums: Counting): void {
  const error = toolErrorType(run);
  sums.add(
    INSTRUMENTS.toolDuration,
    `${run.server} ${run.tool} ${error}`,
    Math.max(0, (run.totalMs ?? totalMs) - run.startMs) / 1000,
    () => ({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": cut(run.tool),
      "dragoman.tool.server": run.server,
      "error.type": error,
    }),
  );
}

function countAnswer(record: CallRecord, sums: Counting): void {
  const { code, stream, provider, cost } = record;
  const status = sentStatus(record);
  const model = code === null ? cut(record.model) : undefined;
  const vendor = vendorOf(record);
  const place = `${record.operation} ${provider} ${vendor} ${model}`;
  const attributes = attributesOf(record.operation, vendor, provider, model);
  sums.add(INSTRUMENTS.serverDuration, `${place} ${code}`, record.totalMs / 1000, () =>
    attributes({ "error.type": code ?? undefined }),
  );
  if (stream && code === null && record.firstContentMs !== null)
    sums.add(INSTRUMENTS.serverFirstToken, place, record.firstContentMs / 1000, attributes);
  sums.add(INSTRUMENTS.calls, `${place} ${status} ${stream} ${code}`, 1, () =>
    attributes({
      "http.response.status_code": status,
      "gen_ai.request.stream": stream,
      "error.type": code ?? undefined,
    }),
  );
  if (record.cancelled) sums.add(INSTRUMENTS.cancelled, place, 1, attributes);
  if (cost !== null && cost.nanoUsd > 0) sums.add(INSTRUMENTS.cost, place, cost.nanoUsd, attributes);
}
