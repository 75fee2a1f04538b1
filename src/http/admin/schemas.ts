// Schemas that many operations of the admin API share: ids, pages, ETags, times.
import { z } from "zod";
import { CATALOGUE, GatewayError } from "../../core/errors.ts";
import { usd } from "../../accounting/price.ts";
import type { LimitRule } from "../../core/configured/limit.ts";
import { timeZoneName } from "../../auth/settings/scope-settings.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Kept } from "../../store/records.ts";
import type { Page, PageRequest } from "../../store/reader.ts";

/** Ids and names that users choose. */
export const chosenId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
    "expected 1 to 64 letters, digits, dots, underscores and dashes, beginning with a letter or digit",
  );
const oneLine = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]*$/u, "expected one line without control characters");
/** A display name. */
export const label = oneLine(100);
export const amount = z
  .union([z.number(), z.string()])
  .meta({ description: "A count, or for money US dollars as decimal text." });
/** What a limit or budget counts, as `amount` describes it. */
export const shownUnits = (unit: LimitRule["unit"], units: number): number | string =>
  unit === "nano_usd" ? usd(BigInt(Math.round(units))) : units;
/** A limit or budget with what answers show of its unit. */
export const shownRule = (rule: LimitRule) => ({
  ...rule,
  scope: { ...rule.scope },
  metric: rule.unit === "nano_usd" ? ("usd" as const) : rule.unit,
  limit: shownUnits(rule.unit, rule.limit),
});
/** A number in a query or a path. */
export const wholeNumber = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Of the calls that a simulation found to become otherwise. */
export const traceIds = z.array(z.string()).meta({ description: "Some of these calls, the newest first." });
const MOST_SIMULATED = 1000;
export const simulatedCalls = z
  .int()
  .min(1)
  .max(MOST_SIMULATED)
  .default(MOST_SIMULATED)
  .meta({ description: "How many calls, the newest." });
export const time = z.iso.datetime().meta({ description: "Time in UTC." });
export const percentiles = z
  .strictObject({ p50: z.int().nullable(), p95: z.int().nullable() })
  .meta({ id: "Percentiles" });
/** The forms know how many days each month has, which `Date.parse` does not. */
const DAY_OR_TIME = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);
/** A day means its beginning in UTC. */
export const instant = z
  .string()
  .refine(
    (text) => DAY_OR_TIME.safeParse(text).success && !Number.isNaN(Date.parse(text)),
    "expected a day such as 2026-01-31, or a time such as 2026-01-31T09:00:00Z",
  )
  .transform((text) => Date.parse(text));
export const timeZone = timeZoneName.optional().meta({
  description:
    "The time zone of days, by its name in the IANA database, such as `Europe/Berlin`. The default is that of the tenant's reports (`timezone` of its settings), otherwise UTC.",
});
export const etagField = z.string().meta({ description: "The ETag of this state, to be sent back as `if-match`." });

export const callCode = z.enum(Object.keys(CATALOGUE) as [string, ...string[]]);

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(1000).default(100).meta({ description: "Entries per page." }),
  cursor: z.string().min(1).max(2000).optional().meta({ description: "The `next_cursor` of the previous page." }),
};
export const search = z
  .string()
  .min(1)
  .max(100)
  .optional()
  .meta({ description: "Text that the id or the name contains; upper and lower case are equal." });
export const dryRunQuery = {
  dry_run: z
    .enum(["true", "false"])
    .optional()
    .meta({ description: "`true` checks the request and shows the result without changing anything." }),
};

const reason = oneLine(500);
export const noteQuery = {
  note: reason
    .optional()
    .meta({ description: "Why the change is made, in one line; the version and the audit log show it." }),
};
export const overrideQuery = {
  override_tests: reason.optional().meta({
    description:
      "Publishes the change although tests of it fail, and says why. It needs the role owner, and the audit log keeps it.",
  }),
};

export function listOf(entry: z.ZodType, id: string): z.ZodType {
  return z
    .strictObject({
      data: z.array(entry),
      next_cursor: z.string().nullable().meta({ description: "Null on the last page." }),
    })
    .meta({ id });
}

export function pageOf({
  limit,
  cursor,
}: {
  readonly limit: number;
  readonly cursor?: string | undefined;
}): PageRequest {
  return { limit, cursor: cursor ?? null };
}

export function listed<T>({ data, nextCursor }: Page<T>, shown: (one: T) => JsonObject): JsonObject {
  return { data: data.map(shown), next_cursor: nextCursor };
}

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

export function iso(ms: number): string {
  // A time that was stored by hand may exceed the range of a date.
  const date = new Date(Math.min(Math.max(ms, -8.64e15), 8.64e15));
  return date.toISOString();
}

interface Versioned {
  readonly version: number;
  readonly createdAtMs: number | null;
}

/** Changes with each change of the resource, and when another resource takes over the name. */
export function etagOf({ version, createdAtMs }: Versioned): string {
  return `"${version}.${(createdAtMs ?? 0).toString(36)}"`;
}

/** The ETag of an object, and when it was created and changed. */
export function shownVersion(kept: Kept<object>): JsonObject {
  return { etag: etagOf(kept), created_at: isoOrNull(kept.createdAtMs), updated_at: isoOrNull(kept.updatedAtMs) };
}

/**
 * Throws `etag_mismatch`. It runs inside the transaction, so that only one of two requests with the same ETag succeeds.
 */
export function requireEtag(ifMatch: readonly string[] | null, thing: Versioned): void {
  requireTag(ifMatch, etagOf(thing));
}

/** The same for an ETag that is not made of a version. */
export function requireTag(ifMatch: readonly string[] | null, now: string): void {
  if (ifMatch !== null && !ifMatch.includes(now))
    throw new GatewayError("etag_mismatch", `It has changed since it was read. Its ETag is now ${now}.`, {
      headers: { etag: now },
    });
}

/** Null when the header is absent or `*`, which any state satisfies. A weak tag never matches (RFC 9110, 13.1.1). */
export function parseIfMatch(header: string | null): readonly string[] | null {
  if (header === null || header.trim() === "*") return null;
  return header.split(",").map((tag) => tag.trim());
}

/** A schema that has a name, or null. The document keeps the name, which it loses where `nullable` gets a description. */
export function orNull<T extends z.ZodType>(named: T, description: string) {
  return z.union([named, z.null()]).meta({ description });
}
