// Parses the body and the query of an admin API request, and reports each fault by its path (promises 5.1, 5.2, 5.6).
import type { z } from "zod";
import { invalidRequest } from "../../core/refusals.ts";
import { unreadableBody } from "../../engine/request/bounded-body.ts";
import { LEAST_HELD_BYTES } from "../../core/concurrency/shared-bytes.ts";
import { bodyText, type LongBodyCaller, readBody } from "../../engine/call/read-body.ts";
import { issueFindings } from "../../config/issues.ts";
import { formatPath, type Finding } from "../../config/problem.ts";
import { GatewayError } from "../../core/errors.ts";
import { describe, isObject, isRawNumber, type Json } from "../../core/json.ts";
import type { ServerLimits } from "../../core/snapshot.ts";
import { parseJsonObject } from "../../wire/json/json.ts";
import { JsonError } from "../../wire/json/json-error.ts";

/** The bound of admin documents; the bodies of calls have their own bound. */
export const MAX_ADMIN_BODY_BYTES = 1_048_576;
const MAX_DEPTH = 32;
/** Enough for any valid document, with lists of a thousand entries each. */
const MAX_VALUES = 50_000;
const MAX_MEMBERS = 5000;
const MAX_LISTED = 20;

export interface JsonBody {
  readonly text: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/**
 * Reads and checks the body of a request. `caller` is `null` if the sender is not identified yet; the body is then at most
 * 64 KiB long, and is not counted as held by a tenant. Throws `unsupported_media_type`, `body_too_large`, `body_timeout`, `invalid_json`, `invalid_request`, `gateway_overloaded`.
 */
export async function readJsonBody(
  request: Request,
  limits: ServerLimits,
  caller: LongBodyCaller | null,
): Promise<JsonBody> {
  const most = caller === null ? LEAST_HELD_BYTES : MAX_ADMIN_BODY_BYTES;
  const bounds = { ...limits, maxBodyBytes: Math.min(limits.maxBodyBytes, most) };
  const text = bodyText(await readBody(request, bounds, caller));
  try {
    const { value } = parseJsonObject(text, { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES, maxMembers: MAX_MEMBERS });
    requirePlainValues(value, []);
    return { text, value };
  } catch (thrown) {
    if (thrown instanceof JsonError) throw unreadableBody(thrown);
    throw thrown;
  }
}

/**
 * Rejects keys with a special meaning in JavaScript objects, and numbers and texts that a store cannot keep unchanged.
 */
function requirePlainValues(value: Json | undefined, path: readonly (string | number)[]): void {
  if (isRawNumber(value))
    throw invalidRequest(
      formatPath(path),
      `${formatPath(path)}: expected a number that fits a double exactly, got ${describe(value)}`,
    );
  if (typeof value === "string") {
    if (value.includes("\0") || !value.isWellFormed())
      throw invalidRequest(
        formatPath(path),
        `${formatPath(path)}: expected text without NUL characters and unpaired surrogates`,
      );
  } else if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) requirePlainValues(one as Json, [...path, index]);
  } else if (isObject(value)) {
    for (const [key, one] of Object.entries(value)) {
      if (key === "__proto__" || key === "constructor" || key === "prototype")
        throw invalidRequest(
          formatPath([...path, key]),
          `${formatPath(path) || "The body"}: the key ${key} is not allowed`,
        );
      requirePlainValues(key, path);
      requirePlainValues(one, [...path, key]);
    }
  }
}

/**
 * Returns what the schema parses. Throws `invalid_request`: `param` is the path of the first fault, `metadata.problems`
 * lists all of them.
 */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw problemsError(issueFindings(result.error.issues, value, schema));
}

/** Requires at least one problem. */
export function problemsError(problems: readonly Finding[]): GatewayError {
  const shown = problems.slice(0, MAX_LISTED).map(({ path, message }) => ({ param: formatPath(path), message }));
  const [first] = shown as [(typeof shown)[number]];
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more: error.metadata.problems)` : "";
  return new GatewayError(
    "invalid_request",
    `${first.param === "" ? "The request" : first.param}: ${first.message}${more}`,
    { param: first.param === "" ? null : first.param, metadata: { problems: shown } },
  );
}

/** Each parameter may appear once; the schema converts the texts. Throws `invalid_request`. */
export function queryOf(url: string): Readonly<Record<string, string>> {
  const values = new Map<string, string>();
  for (const [name, value] of new URL(url).searchParams) {
    if (values.has(name))
      throw invalidRequest(
        formatPath([name]),
        `The query parameter ${JSON.stringify(name.slice(0, 100))} was sent twice. Send it once.`,
      );
    if (value.includes("\0") || name.includes("\0"))
      throw invalidRequest(formatPath([name]), "The query contains a NUL character.");
    values.set(name, value);
  }
  return Object.fromEntries(values);
}
