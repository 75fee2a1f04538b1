// How the made company has configured its gateway, step by step: who changed what, when, and why.
import type { ConfiguredKind } from "../../../src/core/configured/configured.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Actor } from "../../../src/store/records.ts";
import { by, type ProjectId } from "./company.ts";

export interface Configured {
  readonly kind: ConfiguredKind;
  readonly projectId?: ProjectId;
  readonly name: string;
  readonly document: JsonObject;
}

export interface Step {
  readonly daysAgo: number;
  readonly actor: Actor;
  readonly note?: string;
  readonly create?: readonly Configured[];
  /** In place of the document that the object of this name had. */
  readonly change?: readonly Configured[];
}

const CHAT_TESTS = [
  {
    name: "tools stay with the first target",
    when: { parameters: ["tools"] },
    expect: { target: "anthropic:claude-sonnet-4-5" },
  },
  { name: "the second takes over", when: { down: ["anthropic:*"] }, expect: { target: "openai:gpt-5-mini" } },
];
const chat = (more: JsonObject): JsonObject => ({
  targets: ["anthropic:claude-sonnet-4-5", { model: "openai:gpt-5-mini", order: 1 }],
  drop_params: true,
  ...more,
});

export const STEPS: readonly Step[] = [
  {
    daysAgo: 59,
    actor: by("tomasz", "admin", "cli"),
    create: [
      {
        kind: "provider",
        name: "house-gpu",
        document: {
          type: "custom",
          base_url: "https://93.184.215.14/v1",
          api_key: "sk-house-0001",
          models: ["qwen3-32b", "qwen3-8b"],
        },
      },
      { kind: "route", projectId: "support", name: "chat", document: { targets: ["openai:gpt-5-mini"] } },
      { kind: "route", projectId: "support", name: "triage", document: { targets: ["openai:gpt-5-nano"] } },
      {
        kind: "route",
        projectId: "search",
        name: "itinerary",
        document: {
          strategy: "weighted",
          targets: [
            { model: "openai:gpt-5-mini", weight: 3 },
            { model: "mistral:mistral-small-latest", weight: 1 },
          ],
        },
      },
      {
        kind: "route",
        projectId: "content",
        name: "summaries",
        document: { targets: ["house-gpu:qwen3-32b", { model: "mistral:mistral-small-latest", order: 1 }] },
      },
    ],
  },
  {
    daysAgo: 52,
    actor: by("tomasz", "admin"),
    note: "What the machines in Malmö cost us, from the invoice of August.",
    create: [
      {
        kind: "price",
        name: "house-gpu",
        document: { model: "house-gpu:qwen3-32b", prompt: "0.08", completion: "0.24" },
      },
      {
        kind: "price",
        name: "discount-of-the-year",
        document: { model: "openai:gpt-5-mini", from: "2026-09-01", prompt: "0.22", completion: "1.80" },
      },
    ],
  },
  {
    daysAgo: 44,
    actor: by("maya", "owner"),
    create: [
      { kind: "budget", name: "company-month", document: { usd: "62.00", window: "month", thresholds: [80, 95] } },
      { kind: "budget", projectId: "analytics", name: "reports-day", document: { usd: "0.40", window: "day" } },
      {
        kind: "budget",
        projectId: "support",
        name: "support-month",
        document: { usd: "45.00", window: "month", thresholds: [80] },
      },
    ],
  },
  {
    daysAgo: 40,
    actor: by("priya", "maintainer"),
    create: [
      {
        kind: "limit",
        projectId: "support",
        name: "per-customer",
        document: { metric: "requests", window: "hour", limit: 40, scope: { user: "*" } },
      },
      { kind: "limit", projectId: "search", name: "at-once", document: { metric: "concurrency", limit: 40 } },
      {
        kind: "limit",
        projectId: "search",
        name: "tokens-a-minute",
        document: { metric: "tokens", window: "minute", limit: 60_000, mode: "audit" },
      },
    ],
  },
  {
    daysAgo: 36,
    actor: by("tomasz", "admin"),
    create: [
      {
        kind: "policy",
        name: "no-card-numbers",
        document: { guard: { on: "both", classes: ["card", "iban"], action: "mask" } },
      },
      {
        kind: "policy",
        name: "bounded-answers",
        document: {
          rule: "has(request.parameters.max_tokens) && request.parameters.max_tokens > 8000",
          message: "Ask for at most 8,000 tokens.",
        },
      },
      {
        kind: "policy",
        projectId: "content",
        name: "drafts-stay-in-house",
        document: {
          rule: '"draft" in request.metadata && target.provider != "house-gpu"',
          message: "Drafts go to our own machines only.",
          mode: "audit",
        },
      },
    ],
  },
  {
    daysAgo: 30,
    actor: by("priya", "maintainer"),
    note: "Claude answers complaints better: 84 of 100 in the blind test.",
    change: [{ kind: "route", projectId: "support", name: "chat", document: chat({ retries: 1 }) }],
  },
  {
    daysAgo: 24,
    actor: by("tomasz", "admin"),
    create: [
      {
        kind: "tool_server",
        projectId: "support",
        name: "bookings",
        document: {
          url: "https://93.184.215.14/mcp",
          headers: { authorization: "Bearer bk-live-0001" },
          allowed_tools: ["find_*", "change_seat"],
          require_approval: "never",
        },
      },
      {
        kind: "tool_server",
        name: "weather",
        document: { url: "https://93.184.215.14/weather/mcp", require_approval: "never", timeout_s: 5 },
      },
    ],
  },
  {
    daysAgo: 12,
    actor: by("priya", "maintainer"),
    note: "Tests, so that nobody takes the second target out again.",
    change: [{ kind: "route", projectId: "support", name: "chat", document: chat({ retries: 1, tests: CHAT_TESTS }) }],
  },
  {
    daysAgo: 8,
    actor: by("maya", "owner"),
    note: "The autumn campaign.",
    change: [
      {
        kind: "budget",
        projectId: "support",
        name: "support-month",
        document: { usd: "52.00", window: "month", thresholds: [80] },
      },
    ],
  },
  {
    daysAgo: 1.1,
    actor: by("priya", "maintainer"),
    note: "Customers waited up to 20 s when the first target was busy.",
    change: [
      {
        kind: "route",
        projectId: "support",
        name: "chat",
        document: chat({ retries: 1, timeouts: { first_token_ms: 4000 }, tests: CHAT_TESTS }),
      },
    ],
  },
];
