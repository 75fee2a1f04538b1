// Calls of the made company that a page of a call is worth opening for: one that another target served, one that failed, one that was refused, a dear
// one, and one whose tools the gateway ran; with what was said in them.
import type { Usage } from "../../../src/core/chat.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { LimitOutcome, CallRecord } from "../../../src/core/record/record.ts";
import type { ContentText } from "../../../src/store/calls/content-store.ts";
import { attemptOf, bareRecord } from "../../../test/contract/store/call-records.ts";
import { DAY_MS, NOW_MS, type ProjectId, TENANT } from "./company.ts";
import { costAt, type Made } from "./company-calls.ts";

export const REMARKABLE = ["fallback", "failed", "refused", "dear", "tools"] as const;
export type Remarkable = (typeof REMARKABLE)[number];

/** Ids of limits and budgets by `kind project name`, as `makeConfiguration` returns them. */
type Ids = ReadonlyMap<string, string>;

const MINUTES_AGO: Readonly<Record<Remarkable, number>> = { fallback: 3, failed: 8, refused: 12, dear: 26, tools: 5 };

const startOf = (name: Remarkable): number => NOW_MS - MINUTES_AGO[name] * 60_000 - 4321;
export const traceOf = (name: Remarkable): string =>
  `${startOf(name).toString(16).padStart(12, "0")}5e1ec7ed${REMARKABLE.indexOf(name).toString(16).padStart(12, "0")}`;

export function remarkableCalls(made: Made, ids: Ids): readonly CallRecord[] {
  return [fallback(made, ids), failed(made), refused(made, ids), dear(made), tools(made, ids)];
}

function callOf(
  made: Made,
  name: Remarkable,
  projectId: ProjectId,
  caller: string,
  parts: Partial<CallRecord>,
): CallRecord {
  return bareRecord({
    traceId: traceOf(name),
    startedAtMs: startOf(name),
    snapshotVersion: 14,
    tenantId: TENANT,
    projectId,
    tokenId: made.callers.get(caller)!,
    status: 200,
    usageSource: parts.usage === undefined ? null : "provider",
    messages: { count: 4, roles: { system: 1, user: 2, assistant: 1 }, blocks: ["text"], bodyCharacters: 6900 },
    ownMs: 1.1,
    ...parts,
  });
}

const used = (prompt: number, completion: number, cached = 0, reasoning = 0): Usage => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...(cached > 0 && { prompt_tokens_details: { cached_tokens: cached } }),
  ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
});

const outcome = (id: string, parts: Partial<LimitOutcome>): LimitOutcome => ({
  id,
  value: "",
  unit: "nano_usd",
  before: 0,
  reserved: 0,
  settled: 0,
  after: 0,
  wouldRefuse: false,
  ...parts,
});

const PARAMETERS = {
  temperature: "native",
  max_tokens: "mapped",
  tools: "native",
  stream: "native",
} as const;

function fallback(made: Made, ids: Ids): CallRecord {
  const usage = used(3184, 412, 1792);
  const cost = costAt(made.snapshot, "support", "openai:gpt-5-mini", usage, startOf("fallback"));
  const nanoUsd = cost?.nanoUsd ?? 0;
  const first = attemptOf({
    provider: "anthropic",
    vendor: "anthropic",
    model: "claude-sonnet-4-5",
    startMs: 1.4,
    status: 529,
    code: "upstream_overloaded",
    nativeCode: "overloaded_error",
    requestId: "req_011CTy3kPqR8",
    usage: null,
    usageSource: null,
    headMs: 1181,
    firstContentMs: null,
    totalMs: 1183,
  });
  return callOf(made, "fallback", "support", "support-bot", {
    endUser: "customer-1042",
    modelAsked: "chat",
    route: "chat",
    routeVersion: 14,
    provider: "openai",
    model: "gpt-5-mini",
    providerModel: "gpt-5-mini-2025-08-07",
    providerRequestId: "req_7f31c2e09bb4",
    stream: true,
    dispositions: { ...PARAMETERS, temperature: "dropped" },
    candidates: ["anthropic:claude-sonnet-4-5", "openai:gpt-5-mini"],
    plan: [
      {
        target: "anthropic:claude-sonnet-4-5",
        why: "first by order",
        atMs: 1,
        waitMs: 0,
        round: 1,
        refused: null,
      },
      {
        target: "anthropic:claude-sonnet-4-5",
        why: "retry 1 of 1 after a retryable failure",
        atMs: 1183,
        waitMs: 240,
        round: 1,
        refused: null,
      },
      { target: "openai:gpt-5-mini", why: "first by order", atMs: 2011, waitMs: 0, round: 1, refused: null },
    ],
    attempts: [
      first,
      { ...first, startMs: 1424, requestId: "req_011CTy3kRb22", headMs: 2009, totalMs: 2010 },
      attemptOf({
        provider: "openai",
        vendor: "openai",
        model: "gpt-5-mini",
        toldModel: "gpt-5-mini-2025-08-07",
        requestId: "req_7f31c2e09bb4",
        startMs: 2012,
        usage,
        headMs: 2388,
        firstContentMs: 2540,
        totalMs: 7120,
      }),
    ],
    finishReasons: ["stop"],
    usage,
    cost,
    limits: [
      outcome(ids.get("budget support support-month")!, {
        before: 45_912_000_000,
        reserved: 21_400_000,
        settled: nanoUsd,
        after: 45_912_000_000 + nanoUsd,
      }),
      outcome(ids.get("limit support per-customer")!, {
        value: "customer-1042",
        unit: "requests",
        before: 6,
        reserved: 1,
        settled: 1,
        after: 7,
      }),
    ],
    metadata: { channel: "web", session_id: "chat-88213" },
    firstContentMs: 2540,
    totalMs: 7121,
  });
}

function failed(made: Made): CallRecord {
  return callOf(made, "failed", "content", "article-writer", {
    modelAsked: "summaries",
    route: "summaries",
    provider: "mistral",
    model: "mistral-small-latest",
    status: 503,
    code: "upstream_overloaded",
    dispositions: { temperature: "native" },
    candidates: ["house-gpu:qwen3-32b", "mistral:mistral-small-latest"],
    plan: [
      { target: "house-gpu:qwen3-32b", why: "first by order", atMs: 1, waitMs: 0, round: 1, refused: null },
      {
        target: "mistral:mistral-small-latest",
        why: "first by order",
        atMs: 2006,
        waitMs: 0,
        round: 1,
        refused: null,
      },
    ],
    attempts: [
      attemptOf({
        provider: "house-gpu",
        vendor: null,
        model: "qwen3-32b",
        startMs: 1,
        status: null,
        code: "upstream_connection",
        usage: null,
        usageSource: null,
        headMs: null,
        firstContentMs: null,
        totalMs: 2005,
      }),
      attemptOf({
        provider: "mistral",
        vendor: "mistral_ai",
        model: "mistral-small-latest",
        startMs: 2007,
        status: 503,
        code: "upstream_overloaded",
        nativeCode: "service_unavailable",
        requestId: "b7d0f2c4e11a4be1",
        usage: null,
        usageSource: null,
        headMs: 2391,
        firstContentMs: null,
        totalMs: 2392,
      }),
    ],
    totalMs: 2393,
  });
}

function refused(made: Made, ids: Ids): CallRecord {
  return callOf(made, "refused", "analytics", "weekly-report", {
    modelAsked: "openai:gpt-5",
    route: "direct",
    status: 429,
    code: "insufficient_quota",
    dispositions: { reasoning_effort: "native", response_format: "native" },
    limits: [
      outcome(ids.get("budget analytics reports-day")!, {
        before: 398_100_000,
        reserved: 0,
        settled: null,
        after: 398_100_000,
        refused: "insufficient_quota",
      }),
    ],
    totalMs: 1.6,
    ownMs: 1.6,
  });
}

function dear(made: Made): CallRecord {
  const usage = used(118_402, 3820, 0, 2140);
  return callOf(made, "dear", "analytics", "weekly-report", {
    modelAsked: "openai:gpt-5",
    route: "direct",
    provider: "openai",
    model: "gpt-5",
    providerModel: "gpt-5-2025-08-07",
    providerRequestId: "req_c2a7719e",
    dispositions: { reasoning_effort: "native", response_format: "native" },
    messages: { count: 2, roles: { system: 1, user: 1 }, blocks: ["text"], bodyCharacters: 471_020 },
    attempts: [
      attemptOf({
        provider: "openai",
        vendor: "openai",
        model: "gpt-5",
        requestId: "req_c2a7719e",
        usage,
        headMs: 9200,
        firstContentMs: 9200,
        totalMs: 68_410,
      }),
    ],
    finishReasons: ["stop"],
    usage,
    cost: costAt(made.snapshot, "analytics", "openai:gpt-5", usage, startOf("dear")),
    firstContentMs: 68_409,
    totalMs: 68_411,
  });
}

function tools(made: Made, ids: Ids): CallRecord {
  const target = { provider: "anthropic", vendor: "anthropic", model: "claude-sonnet-4-5" };
  const [first, second] = [used(2210, 96), used(2690, 214)];
  const usage = used(4900, 310);
  const name = "anthropic:claude-sonnet-4-5";
  const cost = costAt(made.snapshot, "support", name, usage, startOf("tools"));
  return callOf(made, "tools", "support", "support-bot", {
    endUser: "customer-1007",
    modelAsked: "chat",
    route: "chat",
    routeVersion: 14,
    provider: target.provider,
    model: target.model,
    providerModel: "claude-sonnet-4-5-20250929",
    providerRequestId: "req_011CTy4aa9Zf",
    stream: true,
    dispositions: PARAMETERS,
    candidates: [name, "openai:gpt-5-mini"],
    plan: [1, 2].map((round) => ({
      target: name,
      why: "first by order",
      atMs: round === 1 ? 1 : 2240,
      waitMs: 0,
      round,
      refused: null,
    })),
    attempts: [
      attemptOf({
        ...target,
        requestId: "req_011CTy4a9Xw1",
        startMs: 1,
        usage: first,
        headMs: 610,
        firstContentMs: 640,
        totalMs: 1890,
      }),
      attemptOf({
        ...target,
        requestId: "req_011CTy4aa9Zf",
        round: 2,
        startMs: 2241,
        usage: second,
        headMs: 2790,
        firstContentMs: 2832,
        totalMs: 5604,
      }),
    ],
    rounds: 2,
    tools: [
      {
        callId: "toolu_01",
        server: "bookings",
        tool: "find_booking",
        round: 1,
        startMs: 1892,
        totalMs: 2236,
        code: null,
        isError: false,
        resultBytes: 1204,
        spanId: null,
      },
    ],
    finishReasons: ["stop"],
    usage,
    cost,
    limits: [
      outcome(ids.get("budget support support-month")!, {
        before: 45_880_000_000,
        reserved: 84_000_000,
        settled: cost?.nanoUsd ?? 0,
        after: 45_880_000_000 + (cost?.nanoUsd ?? 0),
      }),
    ],
    policies: [{ name: "no-card-numbers", effect: "masked" }],
    metadata: { channel: "app", session_id: "chat-88190" },
    firstContentMs: 640,
    totalMs: 5605,
  });
}

const SYSTEM = "You help customers of Kestrel Travel. Be brief and friendly, and never promise a refund.";

export function contentsKept(): readonly ContentText[] {
  const kept = (name: Remarkable, content: JsonObject): ContentText => ({
    traceId: traceOf(name),
    tenantId: TENANT,
    projectId: "support",
    expiresMs: NOW_MS + 29 * DAY_MS,
    text: JSON.stringify(content),
  });
  return [
    kept("fallback", {
      messages: [
        { role: "system", content: SYSTEM },
        { role: "user", content: "My train to Gothenburg was cancelled. Do I still reach the ferry at 18:40?" },
        { role: "assistant", content: "I am sorry to hear that. What is your booking number?" },
        { role: "user", content: "KT-40921, two adults and a bicycle." },
      ],
      tools: [{ type: "function", function: { name: "find_connection" } }],
      answers: [
        {
          role: "assistant",
          content:
            "Thank you. The next train leaves at 15:12 and arrives in Gothenburg at 17:49. The ferry is 12 minutes away by tram, so you reach it with half an hour to spare. I have moved your seats to that train; bicycles are allowed in coach 4.",
          finish_reason: "stop",
        },
      ],
    }),
    kept("tools", {
      messages: [
        { role: "system", content: SYSTEM },
        { role: "user", content: "Which seats do we have tomorrow? I paid with the card [card]." },
      ],
      answers: [
        { role: "assistant", content: "You have seats 41 and 42 in coach 3, by the window.", finish_reason: "stop" },
      ],
    }),
  ];
}
