// Sums of calls in the columns of FOCUS 1.2, the specification of cost and usage data for finance: one row for each day in
// UTC, tenant, project, provider, model and route. https://focus.finops.org/focus-specification/v1-2/
import type { UsageDimension, UsageRow } from "../store/calls/calls.ts";
import { usd } from "./price.ts";
import { csvLine } from "../core/text/csv.ts";

/** What the rows are sums over, in the order of `UsageRow.group`. Days are those of UTC, as the specification wants. */
export const FOCUS_DIMENSIONS = [
  "day",
  "tenant",
  "project",
  "provider",
  "model",
  "route",
] as const satisfies readonly UsageDimension[];

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Of calls that no provider was asked for, such as those that a policy refused. */
const NO_PROVIDER = "Dragoman";

/**
 * The time that was asked for, whose first and last day may not be whole. In milliseconds since 1970; the end is
 * exclusive, and `null` where the report has no such bound. A day that is not over yet has the end that it will have: the
 * specification wants the bounds of the period in which charges are made, and not the moment at which they were read.
 */
export interface FocusPeriod {
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** The time that rows are about where, before `wholeUntilMs`, hours count as a whole where they begin. */
export function countedPeriod({ fromMs, toMs }: FocusPeriod, wholeUntilMs: number | null): FocusPeriod {
  const counted = (ms: number | null): number | null =>
    ms === null || wholeUntilMs === null || ms >= wholeUntilMs ? ms : Math.ceil(ms / HOUR_MS) * HOUR_MS;
  return { fromMs: counted(fromMs), toMs: counted(toMs) };
}

interface Facts {
  readonly tenant: string;
  readonly project: string;
  readonly provider: string;
  readonly model: string;
  readonly route: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly sums: UsageRow["sums"];
}

/** Columns whose names begin with `x_` are the gateway's own, as the specification has it. */
const COLUMNS: Readonly<Record<string, (facts: Facts) => string>> = {
  BilledCost: costOf,
  BillingAccountId: ({ tenant }) => tenant,
  BillingAccountName: ({ tenant }) => tenant,
  BillingAccountType: () => "Tenant",
  BillingCurrency: () => "USD",
  BillingPeriodEnd: ({ startMs }) => instant(monthOf(startMs, 1)),
  BillingPeriodStart: ({ startMs }) => instant(monthOf(startMs, 0)),
  ChargeCategory: () => "Usage",
  ChargeClass: () => "",
  ChargeDescription: ({ model, provider }) =>
    model === "" ? "Calls that reached no model" : `${model} at ${provider}`,
  ChargeFrequency: () => "Usage-Based",
  ChargePeriodEnd: ({ endMs }) => instant(endMs),
  ChargePeriodStart: ({ startMs }) => instant(startMs),
  ConsumedQuantity: tokensOf,
  ConsumedUnit: () => "Tokens",
  ContractedCost: costOf,
  EffectiveCost: costOf,
  InvoiceIssuerName: ({ provider }) => provider,
  ListCost: costOf,
  PricingCategory: () => "Standard",
  PricingQuantity: tokensOf,
  PricingUnit: () => "Tokens",
  ProviderName: ({ provider }) => provider,
  PublisherName: ({ provider }) => provider,
  ResourceId: ({ model, provider }) => (model === "" ? "" : `${provider}:${model}`),
  ResourceName: ({ model }) => model,
  ResourceType: ({ model }) => (model === "" ? "" : "Model"),
  ServiceCategory: () => "AI and Machine Learning",
  ServiceName: () => "Language models",
  ServiceSubcategory: () => "Generative AI",
  SubAccountId: ({ project }) => project,
  SubAccountName: ({ project }) => project,
  SubAccountType: ({ project }) => (project === "" ? "" : "Project"),
  Tags: ({ project, route }) => JSON.stringify({ ...(project !== "" && { project }), ...(route !== "" && { route }) }),
  x_CachedTokens: ({ sums }) => String(sums.cachedTokens),
  x_CompletionTokens: ({ sums }) => String(sums.completionTokens),
  x_FailedRequests: ({ sums }) => String(sums.errors),
  x_PromptTokens: ({ sums }) => String(sums.promptTokens),
  x_ReasoningTokens: ({ sums }) => String(sums.reasoningTokens),
  x_Requests: ({ sums }) => String(sums.calls),
  x_UnpricedRequests: ({ sums }) => String(sums.unpriced),
};

export const FOCUS_HEADER = csvLine(Object.keys(COLUMNS));

/** One line of CSV by RFC 4180 for each row, without a header. The rows are sums over `FOCUS_DIMENSIONS`. */
export function focusLines(rows: readonly UsageRow[], period: FocusPeriod): string {
  return rows
    .map(({ group, sums }) => {
      const [day, tenant, project, provider, model, route] = group;
      const dayMs = Date.parse(`${day!}T00:00:00Z`);
      const facts: Facts = {
        tenant: tenant ?? "",
        project: project ?? "",
        provider: provider ?? NO_PROVIDER,
        model: model ?? "",
        route: route ?? "",
        startMs: Math.max(dayMs, period.fromMs ?? dayMs),
        endMs: Math.min(dayMs + DAY_MS, period.toMs ?? dayMs + DAY_MS),
        sums,
      };
      return csvLine(Object.values(COLUMNS).map((cellOf) => cellOf(facts)));
    })
    .join("");
}

/** Exact to the nano-dollar. */
function costOf({ sums }: Facts): string {
  return usd(sums.costNanoUsd);
}

function tokensOf({ sums }: Facts): string {
  return String(sums.promptTokens + sums.completionTokens);
}

function monthOf(ms: number, later: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1);
}

function instant(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}
