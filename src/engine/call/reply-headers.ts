// The headers that every response of the gateway has, errors included (promises 5.1, 9.5, 9.7; docs/clients.md, H1 to
// H8, H18).

// Decides (who may call, and with what): Which origins may browsers call from? By: `corsHeaders`. Also: preflight:
// `http/app.ts`. Rule: Those of `cors.origins`, or all with `*`; none by default.
import type { GatewayError } from "../../core/errors.ts";
import type { CallRecord } from "../../core/record/record.ts";
import { toldPaths } from "../../core/request/told-paths.ts";
import type { ErrorForm } from "./called-operation.ts";

/**
 * Headers of a response that scripts in browsers may read: all, such as those of a form or of a vendor. `*` stands for those
 * that have no name here. It holds for requests without cookies, and others are not allowed.
 */
const EXPOSED =
  "x-request-id, mcp-session-id, etag, idempotent-replayed, x-gateway-next-cursor, x-gateway-as-of, x-gateway-whole-until, x-gateway-dry-run, x-gateway-trace-id, x-gateway-model, x-gateway-route, x-gateway-attempts, x-gateway-attempt-list, x-gateway-cache, x-gateway-cache-key, x-gateway-provider-model, x-gateway-provider-request-id, x-gateway-cost-usd, x-gateway-dropped-params, x-gateway-warnings, x-gateway-error-code, x-gateway-error-param, x-gateway-error-message, x-gateway-response-kept-until, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens, retry-after, retry-after-ms, x-should-retry, server-timing, www-authenticate, *";

/** Every stream of events has them: proxies would hold back or change what is passed on as it comes (H2). */
export const STREAM_HEADERS = { "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" } as const;

export function baseHeaders(traceId: string, ownMs: number): Record<string, string> {
  return { "x-request-id": traceId, "x-gateway-trace-id": traceId, "server-timing": `gw;dur=${ownMs.toFixed(3)}` };
}

/** Returns no headers unless the configuration names the origin (promise 9.7). */
export function corsHeaders(origin: string | null, origins: readonly string[]): Readonly<Record<string, string>> {
  if (origin === null || origins.length === 0 || !(origins.includes("*") || origins.includes(origin))) return {};
  return {
    "access-control-allow-origin": origins.includes("*") ? "*" : origin,
    "access-control-expose-headers": EXPOSED,
    vary: "origin",
  };
}

/** Returns what the provider reported about itself, for answers and errors (promise 9.8). */
export function providerHeaders({
  providerModel,
  providerRequestId,
}: Pick<CallRecord, "providerModel" | "providerRequestId">): Readonly<Record<string, string>> {
  return {
    ...(providerModel !== null && { "x-gateway-provider-model": providerModel }),
    ...(providerRequestId !== null && { "x-gateway-provider-request-id": providerRequestId }),
  };
}

const MAX_HEADER = 1024;

/** A header holds visible ASCII only. */
export function visibleHeader(text: string): string {
  return text.slice(0, MAX_HEADER).replaceAll(/[^\x20-\x7e]/g, "?");
}

export function pathsHeader(paths: readonly string[]): string {
  const { named, more } = toldPaths(paths);
  return [...named, ...(more === 0 ? [] : [`and ${more} more`])].join(",");
}

/** The code stands in the head because the forms of some operations have no place for it (promise 12.6). */
export function errorResponse(
  form: ErrorForm,
  error: GatewayError,
  traceId: string,
  ownMs: number,
  cors: Readonly<Record<string, string>>,
): Response {
  const headers: Record<string, string> = {
    ...baseHeaders(traceId, ownMs),
    ...cors,
    "x-gateway-error-code": error.code,
    ...(error.param !== null && { "x-gateway-error-param": visibleHeader(error.param) }),
    ...error.headers,
    ...form.headers?.(error, traceId),
    "content-type": "application/json",
  };
  const { status, passed } = error;
  const { retry } = error.entry;
  if (!retry) headers["x-should-retry"] = "false";
  if (status === 401) headers["www-authenticate"] = 'Bearer realm="dragoman"';
  return new Response(passed?.body ?? JSON.stringify(form.body(error, traceId)), { status, headers });
}
