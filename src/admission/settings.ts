// The configuration of limits and budgets (promises of chapter 4). The body of the admin API, the document in the store
// and the entry of the configuration file have one form. There money is exact decimal text; the gateway converts it to
// whole nano-dollars.
import { z } from "zod";
import { compileGlob } from "../core/text/glob.ts";
import { OPERATION_NAMES } from "../core/operation.ts";
import { ROUTE_NAME } from "../core/configured/route.ts";

/** The most that a count can hold and still be exact to the unit. */
const MAX_UNITS = 1_000_000_000_000;
const MAX_USD = 1_000_000;
const NANO_DIGITS = 9;
const MAX_ENTRIES = 10_000;
const MAX_VALUE = 400;
export const DEFAULT_OUTPUT_TOKENS = 4_096;

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const named = (description: string) =>
  z
    .string()
    .regex(NAME, "expected 1 to 64 letters, digits, dashes, dots and underscores")
    .optional()
    .meta({ title: "Name", description });
// oxlint-disable-next-line eslint/no-control-regex
const PRINTABLE = /^[^\u0000-\u001f\u007f]*$/;
const scopeValue = (title: string, description: string) =>
  z
    .string()
    .min(1)
    .max(MAX_VALUE)
    .regex(PRINTABLE, "expected text without control characters")
    .optional()
    .meta({ title, description });

const scopeSchema = z
  .strictObject({
    token: scopeValue("Token", "Id of the access token."),
    user: scopeValue(
      "User",
      "End user, as named in the request's `user` (or `safety_identifier`). The limit does not apply to calls that name no end user.",
    ),
    route: scopeValue("Route", "Name of the route; `direct` for calls that name a model and no route."),
    provider: scopeValue("Provider", "Id of the provider."),
    model: scopeValue("Model", "`<provider>:<model_name>`."),
    operation: scopeValue("Operation", "Name of the operation, such as `chat.completions`.").refine(
      (given) => given === undefined || OPERATION_NAMES.some(compileGlob(given)),
      `expected the name of an operation (${OPERATION_NAMES.join(", ")}) or a glob`,
    ),
  })
  .prefault({})
  .meta({
    title: "Scope",
    description:
      "Which calls are counted, within the tenant or project; a call must match all fields. A value is exact or a glob (`prefix*`), and everything that it matches shares one count; `*` alone gives each value its own count. Empty for all calls.",
  });

const shared = {
  scope: scopeSchema,
  mode: z.enum(["enforce", "audit"]).default("enforce").meta({
    title: "Mode",
    description:
      "`enforce` refuses calls; `audit` only reports what would have been refused, in the record, the log and the metrics.",
  }),
  on_store_failure: z.enum(["local_share", "closed", "open"]).default("local_share").meta({
    title: "If the limit store fails",
    description:
      "What replicas do while the shared limit store cannot be reached: each applies its share of the limit, refuses with 503, or admits everything. It has no effect with a single process.",
  }),
  assume_output_tokens: z.int().min(1).max(10_000_000).default(DEFAULT_OUTPUT_TOKENS).meta({
    title: "Assumed output",
    description:
      "Tokens reserved for an answer if the request does not set a maximum, unless the model's own maximum is smaller.",
  }),
};

export const limitSchema = z
  .strictObject({
    name: named("Its name in errors and records."),
    metric: z.enum(["requests", "tokens", "concurrency"]).meta({
      title: "Metric",
      description: "What is counted: requests, tokens (prompt and completion together), or concurrent calls.",
    }),
    window: z.enum(["second", "minute", "hour", "day"]).optional().meta({
      title: "Window",
      description:
        "A sliding window: at most `limit` are admitted in any period of this length. It has no effect for `concurrency`.",
    }),
    limit: z.int().min(0).max(MAX_UNITS).meta({ title: "Limit", description: "The maximum; 0 admits nothing." }),
    ...shared,
  })
  .superRefine(({ metric, window }, context) => {
    if (metric !== "concurrency" && window === undefined)
      context.addIssue({ code: "custom", path: ["window"], message: "expected second, minute, hour or day" });
  });

/** Decimal text with at most nine digits after the decimal point, which is a whole number of nano-dollars. */
const USD_TEXT = /^\d{1,7}(\.\d{1,9})?$/;
const usd = z
  .union([
    z
      .string()
      .regex(USD_TEXT, 'expected dollars as a decimal such as "12.50", not negative, with at most 9 decimal places'),
    z.number().min(0).max(MAX_USD),
  ])
  .refine(
    (amount) => typeof amount === "string" || USD_TEXT.test(String(amount)),
    "expected an amount of whole nano-dollars; write it as text",
  )
  .refine((amount) => Number(amount) <= MAX_USD, `expected at most ${MAX_USD}`)
  .meta({
    title: "US dollars",
    description: 'The amount that calls may cost: exact decimal text (`"12.50"`) or a number.',
  });

const percent = z.number().gt(0).max(100);
const threshold = z.union([
  percent,
  z.strictObject({
    percent: percent.meta({ title: "Percent", description: "Share of the budget, above 0 and at most 100." }),
    degrade_to: z
      .string()
      .min(1)
      .max(MAX_VALUE)
      .refine(
        (text) =>
          text.startsWith("route:") ? ROUTE_NAME.test(text.slice("route:".length)) : /^[^:/]+[:/]./.test(text),
        "expected <provider>:<model_name>, or route:<name>",
      )
      .optional()
      .meta({
        title: "Degrade to",
        description:
          "A cheaper model or `route:<name>` to which calls are sent from this threshold on, and whenever the budget would refuse them.",
      }),
  }),
]);

export const budgetSchema = z
  .strictObject({
    name: named("Its name in errors and records."),
    usd: usd.optional(),
    tokens: z
      .int()
      .min(0)
      .max(MAX_UNITS)
      .optional()
      .meta({ title: "Tokens", description: "Instead of `usd`: tokens of prompt and completion together." }),
    window: z
      .enum(["day", "week", "month", "total"])
      .meta({ title: "Window", description: "Calendar period in UTC; weeks start on Monday. `total` never resets." }),
    unpriced: z.enum(["deny", "allow"]).default("deny").meta({
      title: "Unpriced",
      description:
        "Calls to models without a known price: `deny` answers 403 `model_unpriced`, `allow` runs them without counting them.",
    }),
    cache_hits: z.enum(["free", "full"]).default("free").meta({
      title: "Cache hits",
      description:
        "What answers from the response cache count in the budget: nothing (`free`), or as much as if the provider had been called (`full`).",
    }),
    thresholds: z.array(threshold).max(10).default([]).meta({
      title: "Thresholds",
      description:
        "Percentages of the budget at which an event is sent, once per window; with `degrade_to`, calls go to a cheaper model from there on.",
    }),
    ...shared,
  })
  .superRefine((budget, context) => {
    if ((budget.usd === undefined) === (budget.tokens === undefined))
      context.addIssue({
        code: "custom",
        path: [budget.usd === undefined ? "usd" : "tokens"],
        message: "expected exactly one of usd and tokens",
      });
    const percents = budget.thresholds.map((each) => (typeof each === "number" ? each : each.percent));
    if (new Set(percents).size < percents.length)
      context.addIssue({ code: "custom", path: ["thresholds"], message: "expected each percentage only once" });
  });

export type LimitDocument = z.output<typeof limitSchema>;
export type BudgetDocument = z.output<typeof budgetSchema>;

/** Expects text or a number that the schema accepts. */
export function nanoUsdOf(amount: string | number): number {
  const [whole = "0", fraction = ""] = String(amount).split(".");
  return Number(whole) * 10 ** NANO_DIGITS + Number(fraction.padEnd(NANO_DIGITS, "0"));
}

const entries = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .record(z.string().regex(NAME, "expected a name of 1 to 64 letters, digits, dashes, dots and underscores"), schema)
    .refine((all) => Object.keys(all).length <= MAX_ENTRIES, `expected at most ${MAX_ENTRIES}`)
    .prefault({});

/** Entries at the top of the configuration file, by name: they apply to every tenant. */
export const limitsSection = entries(limitSchema).meta({
  title: "Limits",
  description:
    "Limits of requests, tokens and concurrent calls, by name; see [limits.md](limits.md). Limits at the top level of the file apply to each tenant separately.",
});
export const budgetsSection = entries(budgetSchema).meta({
  title: "Budgets",
  description:
    "Budgets of money and tokens, by name; see [limits.md](limits.md). Budgets at the top level of the file apply to each tenant separately.",
});
