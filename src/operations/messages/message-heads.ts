// Headers of this form: the id of the request, what is left of limits, and the version that the client speaks.
// https://platform.claude.com/docs/en/api/rate-limits, .../api/versioning
import type { ReadyCall } from "../../engine/operation.ts";
import { GatewayError } from "../../core/errors.ts";
import { isObject, isSet, type Json, type JsonObject, listIn } from "../../core/json.ts";

const LEFT = "anthropic-ratelimit-";
const VERSION = "anthropic-version";
const KINDS = ["requests", "tokens"] as const;

/** Adds what the client libraries of this form read. The figures are those of the gateway's own limits. */
export function addHeaders(head: Headers, nowMs: number): void {
  const traceId = head.get("x-gateway-trace-id");
  if (traceId !== null) head.set("request-id", traceId);
  for (const kind of KINDS) {
    const limit = head.get(`x-ratelimit-limit-${kind}`);
    if (limit === null) continue;
    head.set(`${LEFT}${kind}-limit`, limit);
    head.set(`${LEFT}${kind}-remaining`, head.get(`x-ratelimit-remaining-${kind}`) ?? "0");
    const reset = head.get(`x-ratelimit-reset-${kind}`);
    if (reset !== null) head.set(`${LEFT}${kind}-reset`, new Date(nowMs + milliseconds(reset)).toISOString());
  }
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000 };

/** Reads a duration such as `6m0s`. */
function milliseconds(duration: string): number {
  let sum = 0;
  for (const [, count, unit] of duration.matchAll(/(\d+)([hms])/g)) sum += Number(count) * UNITS[unit!]!;
  return sum;
}

/** From this version on, sampling cannot be set, and some content is refused. */
const STRICT_VERSION = "2026-10-21";
const SAMPLING = ["temperature", "top_p", "top_k"] as const;

/**
 * Throws `invalid_request` for what the client's own version of the form refuses. A request without a version has the
 * rules of the first one.
 */
export function requireVersionsRules({ headers, request }: ReadyCall): void {
  const version = headers.get(VERSION) ?? "";
  if (!/^\d{4}-\d{2}-\d{2}$/.test(version) || version < STRICT_VERSION) return;
  const { body } = request.written!;
  for (const name of SAMPLING)
    if (isSet(body[name]))
      throw refusal(name, `cannot be set in version ${version} of the form. Leave it out, or send an older version.`);
  objectsInPlace(body["messages"]).forEach(({ role, content }, index) => {
    objectsInPlace(content).forEach((block, at) => {
      const path = `messages[${index}].content[${at}]`;
      if (role === "assistant" && block["type"] === "document")
        throw refusal(
          path,
          `cannot be a document in version ${version} of the form, because the message is the assistant's.`,
        );
      const { citations } = block;
      if (role === "user" && block["type"] === "text" && Array.isArray(citations) && citations.length > 0)
        throw refusal(
          `${path}.citations`,
          `cannot be set in version ${version} of the form, because the message is the user's.`,
        );
    });
  });
}

/** Another thread may hold the messages of a long body. */
function objectsInPlace(value: Json | undefined): readonly JsonObject[] {
  return listIn(value).map((one) => (isObject(one) ? one : {}));
}

function refusal(path: string, message: string): GatewayError {
  return new GatewayError("invalid_request", `${path} ${message}`, { param: path, isWritten: true });
}
