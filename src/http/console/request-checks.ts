// Whether a request below /console/api comes from the console's own page. The cookie is sent along with requests that
// pages of the same site make, so that it alone says nothing about who asked.
// https://www.w3.org/TR/fetch-metadata/
import { GatewayError } from "../../core/errors.ts";
import type { Arrival } from "./arrival.ts";
import { JSON_TYPE } from "../../engine/call/read-body.ts";

/** A page of another origin can send this header only after a preflight, which the gateway never answers. */
export const OWN_HEADER = "x-gateway-console";
const OWN_VALUE = "1";
/** Contains the id of the session that the page shows. Somebody else may have logged in in another tab since. */
export const PAGE_SESSION_HEADER = "x-gateway-session";
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Throws `console_refused`, or `unsupported_media_type`. */
export function requireOwnPage(request: Request, { origin, refusal }: Arrival): void {
  if (refusal !== null) throw new GatewayError("console_refused", refusal);
  const { headers, method } = request;
  const from = headers.get("sec-fetch-site");
  const asked = headers.get("origin");
  const hasOwn = headers.get(OWN_HEADER) === OWN_VALUE;
  const isOwn = from === null ? (asked === null ? hasOwn : asked === origin) : from === "same-origin";
  if (!isOwn || (asked !== null && asked !== origin))
    throw new GatewayError(
      "console_refused",
      `Only the console's own pages (${origin}) may ask this. Programs use /api/v1 with an access token.`,
    );
  if (SAFE_METHODS.has(method)) return;
  if (!hasOwn)
    throw new GatewayError(
      "console_refused",
      `Requests that change something need the header ${OWN_HEADER}: ${OWN_VALUE}.`,
    );
  const type = headers.get("content-type");
  if (hasBody(headers) || type !== null) requireJson(type);
}

function hasBody(headers: Headers): boolean {
  return (headers.get("content-length") ?? "0") !== "0" || headers.has("transfer-encoding");
}

function requireJson(type: string | null): void {
  if (type === null || !JSON_TYPE.test(type))
    throw new GatewayError("unsupported_media_type", "The body must be JSON: send content-type: application/json.");
}
