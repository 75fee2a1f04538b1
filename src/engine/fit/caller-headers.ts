// `headers` and `extra_headers` of a request, and the client's own HTTP headers: what a caller may send to the provider
// (promise 2.10).

// Decides (the request): Which headers and parameters of the caller reach the provider? By: `withClientHead`. Also:
// unknown fields: `engine/request/parse.ts` (`classify`). Rule: Of the client's own headers those that the provider
// lists; of those that the body names all but what carries credentials or frames the message, which is 400
// `header_not_allowed`. A field that the gateway does not know is kept for the provider.
import type { ChatRequest } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { describe, type JsonObject, isSet } from "../../core/json.ts";
import { invalidRequest } from "../../core/refusals.ts";
import type { Target } from "../../core/target.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import type { TokenRestrictions } from "../../core/identity.ts";

const FORBIDDEN = new Set([
  "authorization",
  "proxy-authorization",
  "api-key",
  "x-api-key",
  "openai-organization",
  "openai-project",
  "host",
  "cookie",
  "set-cookie",
  "content-length",
  "content-type",
  "content-encoding",
  "accept-encoding",
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
  "http2-settings",
]);
const FORBIDDEN_PREFIX = /^(x-goog-|x-amz-|x-gateway-|sec-|proxy-)/;
/** RFC 9110 5.6.2: token. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
/** Visible ASCII, space and tab, so that no CR, LF or NUL can inject another header. */
const VALUE = /^[\t\x20-\x7e]*$/;
const NONE: Readonly<Record<string, string>> = Object.freeze({});

/** About what servers accept of one header; a longer one is not sent. Clients of many features list each of them. */
const MAX_CLIENT_HEADER = 8192;

/** What a request says beside its body. */
export interface ClientHead {
  readonly header: (name: string) => string | null;
  /** The value of a member of the query. */
  readonly query: (name: string) => string | null;
}

/**
 * Returns the target with those of the client's own HTTP headers that the provider lists, and members of its query;
 * headers of the same name in the request's body override them.
 */
export function withClientHead(
  target: Target,
  { clientHeaders, clientQuery = [] }: Pick<Provider, "clientHeaders" | "clientQuery">,
  { written }: Pick<ChatRequest, "written">,
  client: ClientHead,
): Target {
  const headers = listed(
    clientHeaders,
    (name) => written?.headers?.[name] ?? client.header(name),
    (value) => value !== "" && value.length <= MAX_CLIENT_HEADER && VALUE.test(value),
  );
  const query = listed(clientQuery, client.query, (value) => QUERY_VALUE.test(value));
  if (headers === null && query === null) return target;
  return {
    ...target,
    ...(headers !== null && { headers: { ...headers, ...target.headers } }),
    ...(query !== null && { query }),
  };
}

/** The values of the query that client libraries send, such as `true`. */
const QUERY_VALUE = /^[\w.-]{1,64}$/;

/** Returns null where no name has a value that passes. */
function listed(
  names: readonly string[],
  valueOf: (name: string) => string | null,
  passes: (value: string) => boolean,
): Record<string, string> | null {
  let found: Record<string, string> | null = null;
  for (const name of names) {
    const value = valueOf(name);
    if (value !== null && passes(value)) (found ??= {})[name] = value;
  }
  return found;
}

/**
 * Returns lower-case names; `extra` overrides `plain`. Throws `invalid_request` or `header_not_allowed` with the path.
 */
export function parseCallerHeaders(
  plain: JsonObject | undefined,
  extra: JsonObject | undefined,
): Readonly<Record<string, string>> {
  if (plain === undefined && extra === undefined) return NONE;
  return { ...(plain && checkedHeaders("headers", plain)), ...(extra && checkedHeaders("extra_headers", extra)) };
}

/** Returns the headers of the object at `path` by lower-case name; null means "not set". Throws as above. */
export function checkedHeaders(path: string, source: JsonObject): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(source)) {
    if (value === null || value === undefined) continue;
    const param = `${path}.${name}`;
    const lower = name.toLowerCase();
    if (!NAME.test(name)) throw invalidRequest(param, `${path} contains a name that is not a valid HTTP header name.`);
    if (typeof value !== "string") throw invalidRequest(param, `${param} must be a string; got ${describe(value)}.`);
    if (!VALUE.test(value))
      throw invalidRequest(param, `${param} may contain visible ASCII only, without line breaks.`);
    if (FORBIDDEN.has(lower) || FORBIDDEN_PREFIX.test(lower))
      throw new GatewayError(
        "header_not_allowed",
        `${param} cannot be set by a caller; send a credential in api_key.`,
        { param },
      );
    headers.set(lower, value);
  }
  return Object.fromEntries(headers);
}

/** Where a request has headers, and the addresses of its own to which they may go. */
const HEADERS = ["extra_headers", "headers"] as const;
const ADDRESSES = ["base_url", "api_base"] as const;

/**
 * Headers may select another model at the provider than the one that is named and checked (X-Amzn-SageMaker-Target-Model,
 * or a gateway that routes by headers), and a complete list of them is impossible. A token with restrictions may therefore
 * send headers only to an address that the request itself contains (promises 2.4 and 3.4). Throws `permission_required`
 * with the path.
 */
export function requireNoHeaders({ options, source }: ChatRequest, restrictions: TokenRestrictions | null): void {
  if (restrictions === null || !options.needs.has("byo_endpoint")) return;
  if (options.baseUrl === null && Object.keys(options.headers).length > 0)
    throw refused(HEADERS.find((name) => source.members.has(name)) ?? "headers");
  for (const { path, params } of [...options.fallbacks, ...(options.modelList ?? [])]) {
    const name = HEADERS.find((one) => isSet(params[one]));
    if (name !== undefined && !ADDRESSES.some((one) => isSet(params[one]))) throw refused(`${path}.${name}`);
  }
}

function refused(param: string): GatewayError {
  return new GatewayError(
    "permission_required",
    `${param} could select another model at the provider, but this access token is restricted to some models or routes. It can be sent only to an address set in the request.`,
    { param },
  );
}
