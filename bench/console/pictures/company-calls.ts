// The calls of the made company: thirty days of them, more by day than by night and fewer on weekends, at the prices of the gateway. A provider of
// its own has been failing for most of an hour.
import { costOf } from "../../../src/accounting/cost.ts";
import { priceAt } from "../../../src/accounting/price-book.ts";
import type { Usage } from "../../../src/core/chat.ts";
import type { ErrorCode } from "../../../src/core/errors.ts";
import type { Attempt, CallRecord } from "../../../src/core/record/record.ts";
import { type Snapshot, snapshotSeenBy } from "../../../src/core/snapshot.ts";
import { providers } from "../../../src/providers/registry.ts";
import { attemptOf, bareRecord } from "../../../test/contract/store/call-records.ts";
import { HOUR_MS, NOW_MS, TENANT } from "./company.ts";
import { HOUSE, type Kind, KINDS } from "./company-traffic.ts";
import { seededRandom } from "./seeded-random.ts";

const DAYS = 30;
const CALLS_A_DAY = 900;
/** The company's own provider answers nothing since then. */
export const TROUBLE_MS = NOW_MS - 47 * 60_000;

/** How many calls there are at an hour of the day in UTC, beside others. */
const BY_HOUR = [2, 1.5, 1, 1, 2, 5, 11, 20, 29, 34, 35, 33, 31, 34, 36, 34, 30, 26, 24, 22, 19, 14, 9, 5];
const WEEKEND = 0.62;

export interface Made {
  readonly snapshot: Snapshot;
  /** Ids of tokens by name. */
  readonly callers: ReadonlyMap<string, string>;
}

/** All calls, the oldest first. */
export function companyCalls(made: Made): readonly CallRecord[] {
  const random = seededRandom(20_261_015);
  const hours = DAYS * 24;
  const whole = BY_HOUR.reduce((sum, weight) => sum + weight, 0);
  const firstHourMs = Math.floor(NOW_MS / HOUR_MS) * HOUR_MS - (hours - 1) * HOUR_MS;
  const times: number[] = [];
  for (let hour = 0; hour < hours; hour++) {
    const fromMs = firstHourMs + hour * HOUR_MS;
    const date = new Date(fromMs);
    const isWeekend = date.getUTCDay() % 6 === 0;
    const growth = 0.8 + (0.35 * hour) / hours;
    const count = Math.round(
      ((CALLS_A_DAY * BY_HOUR[date.getUTCHours()]!) / whole) *
        (isWeekend ? WEEKEND : 1) *
        growth *
        (0.9 + 0.2 * random()),
    );
    for (let call = 0; call < count; call++) times.push(fromMs + random() * HOUR_MS);
  }
  return times
    .filter((time) => time < NOW_MS - 20_000)
    .toSorted((a, b) => a - b)
    .map((time, number) => callOf(Math.floor(time), number, random, made));
}

const between = ([from, to]: readonly [number, number], share: number): number =>
  Math.round(from + (to - from) * share ** 1.6);

function chosen<T>(all: readonly T[], weightOf: (one: T) => number, share: number): T {
  let left = share * all.reduce((sum, one) => sum + weightOf(one), 0);
  for (const one of all) if ((left -= weightOf(one)) < 0) return one;
  return all.at(-1)!;
}

/** What goes wrong with some calls, by its share of all. */
const FAULTS: readonly (readonly [share: number, status: number, code: ErrorCode])[] = [
  [0.004, 429, "rate_limit_exceeded"],
  [0.0025, 504, "upstream_timeout"],
  [0.002, 503, "upstream_overloaded"],
  [0.0015, 400, "context_length_exceeded"],
  [0.001, 403, "policy_violation"],
  [0.0008, 502, "upstream_incomplete"],
];

function callOf(startedAtMs: number, number: number, random: () => number, made: Made): CallRecord {
  const kind = chosen(KINDS, ({ weight }) => weight, random());
  const target = chosen(kind.targets, ([, share]) => share, random())[0];
  const isInTrouble = target.startsWith(HOUSE) && startedAtMs > TROUBLE_MS;
  let drawn = random();
  const fault = isInTrouble ? undefined : FAULTS.find(([share]) => (drawn -= share) < 0);
  const failedOver = kind.fallback !== undefined && (isInTrouble || random() < 0.012);
  const [status, code]: readonly [number, ErrorCode | null] =
    fault !== undefined
      ? [fault[1], fault[2]]
      : isInTrouble && !failedOver
        ? [502, "upstream_connection"]
        : [200, null];
  const stream = random() < kind.stream;
  const prompt = between(kind.prompt, random());
  const completion = between(kind.completion, random());
  const cached = kind.route === "chat" && random() < 0.7 ? Math.floor(prompt * 0.55) : 0;
  const isLeft = stream && code === null && random() < 0.008;
  const jitter = 0.7 + random() ** 3 * 3;
  return madeCall(
    {
      kind,
      target: failedOver && code === null ? kind.fallback : target,
      failed: failedOver ? target : null,
      startedAtMs,
      number,
      status,
      code,
      stream,
      prompt,
      completion,
      cached,
      isLeft,
      firstMs: Math.round(kind.firstMs * jitter),
      customer: kind.customers === 0 ? null : `customer-${1000 + Math.floor(random() ** 2 * kind.customers)}`,
      mixed: Math.floor(random() * 2 ** 32),
    },
    made,
  );
}

interface Drawn {
  readonly kind: Kind;
  readonly target: string;
  /** The target that failed before; null if there was none. */
  readonly failed: string | null;
  readonly startedAtMs: number;
  readonly number: number;
  readonly status: number;
  readonly code: ErrorCode | null;
  readonly stream: boolean;
  readonly prompt: number;
  readonly completion: number;
  readonly cached: number;
  readonly isLeft: boolean;
  readonly firstMs: number;
  readonly customer: string | null;
  readonly mixed: number;
}

/** Refused before anything was sent. */
const OWN_REFUSALS: ReadonlySet<ErrorCode> = new Set(["rate_limit_exceeded", "policy_violation"]);

function madeCall(drawn: Drawn, made: Made): CallRecord {
  const { kind, target, failed, startedAtMs, number, status, code, stream, firstMs, customer, mixed } = drawn;
  const [provider, model] = target.split(":") as [string, string];
  const isRefused = code !== null && OWN_REFUSALS.has(code);
  const usage = code === null ? usageOf(drawn) : null;
  const waitMs = failed === null ? 0 : failed.startsWith(HOUSE) ? 2004 : 640 + (mixed % 400);
  const answerMs = (drawn.completion / kind.tokensPerSecond) * 1000 * (drawn.isLeft ? 0.3 : 1);
  const totalMs = isRefused ? 2 + (mixed % 3) : Math.round(waitMs + firstMs + (code === null ? answerMs : 40));
  const attempts: readonly Attempt[] = isRefused
    ? []
    : [
        ...(failed === null ? [] : [failedAttempt(failed, waitMs)]),
        attemptOf({
          ...endOf(target),
          startMs: waitMs + 1,
          status: code === "upstream_timeout" || code === "upstream_connection" ? null : status,
          code,
          usage,
          usageSource: usage === null ? null : "provider",
          requestId: `req_${mixed.toString(36)}${number.toString(36)}`,
          headMs: code === null ? waitMs + firstMs - 20 : null,
          firstContentMs: code === null ? waitMs + firstMs : null,
          totalMs,
        }),
      ];
  return bareRecord({
    ...placeOf(kind, made),
    traceId: `${startedAtMs.toString(16).padStart(12, "0")}${mixed.toString(16).padStart(8, "0")}${number.toString(16).padStart(12, "0")}`,
    startedAtMs,
    snapshotVersion: 3,
    operation: kind.operation,
    endUser: customer,
    modelAsked: kind.route === "direct" ? target : kind.route,
    route: kind.route,
    provider: isRefused ? null : provider,
    model: isRefused ? null : model,
    providerModel: code === null ? model : null,
    providerRequestId: isRefused ? null : `req_${mixed.toString(36)}${number.toString(36)}`,
    stream,
    status: drawn.isLeft ? 499 : status,
    code: drawn.isLeft ? "client_closed" : code,
    cancelled: drawn.isLeft,
    dispositions: Object.fromEntries(kind.parameters.map((name) => [name, "native" as const])),
    messages: {
      count: 2 + (mixed % 5),
      roles: { system: 1, user: 1 + (mixed % 3) },
      blocks: ["text"],
      bodyCharacters: drawn.prompt * 4,
    },
    attempts,
    finishReasons: usage === null || kind.operation !== "chat.completions" ? [] : ["stop"],
    usage,
    usageSource: usage === null ? null : "provider",
    cost: usage === null ? null : costAt(made.snapshot, kind.project, target, usage, startedAtMs),
    metadata: kind.project === "support" ? { channel: ["web", "app", "mail"][mixed % 3]! } : null,
    firstContentMs: code === null && kind.operation === "chat.completions" ? waitMs + firstMs : null,
    totalMs,
    ownMs: 0.4 + (mixed % 12) / 10,
  });
}

const placeOf = ({ project, caller }: Kind, { callers }: Made) => ({
  tenantId: TENANT,
  projectId: project,
  tokenId: callers.get(caller)!,
});

const endOf = (target: string): Pick<Attempt, "provider" | "model" | "vendor"> => {
  const [provider, model] = target.split(":") as [string, string];
  return { provider, model, vendor: provider };
};

function failedAttempt(target: string, totalMs: number): Attempt {
  const isHouse = target.startsWith(HOUSE);
  return attemptOf({
    ...endOf(target),
    startMs: 1,
    status: isHouse ? null : 529,
    code: isHouse ? "upstream_connection" : "upstream_overloaded",
    nativeCode: isHouse ? null : "overloaded_error",
    usage: null,
    usageSource: null,
    headMs: isHouse ? null : totalMs - 3,
    firstContentMs: null,
    totalMs,
  });
}

function usageOf({ kind, prompt, completion, cached }: Drawn): Usage {
  const reasoning = kind.project === "analytics" ? Math.floor(completion * 0.4) : 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached > 0 && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** The same sum that the gateway makes. */
export function costAt(
  snapshot: Snapshot,
  projectId: string,
  target: string,
  usage: Usage,
  atMs: number,
): CallRecord["cost"] {
  const [provider, model] = target.split(":") as [string, string];
  const settings = snapshotSeenBy(snapshot, { tenantId: TENANT, projectId }).providers.get(provider)!;
  const source = providers.get(settings.family)!;
  const price = priceAt(snapshot.prices, { tenantId: TENANT, projectId }, settings, source, model, atMs);
  const nanoUsd = price === null ? null : costOf(usage, price.rates);
  return price === null || nanoUsd === null ? null : { nanoUsd, priceId: price.id };
}
