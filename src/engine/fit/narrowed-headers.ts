// Headers of a request may select another model at the provider than the one that is named and checked
// (X-Amzn-SageMaker-Target-Model, or a gateway that routes by headers), and a complete list of them is impossible. A
// token with restrictions may therefore send headers only to an address that the request itself contains (promises 2.4
// and 3.4).
import type { ChatRequest } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import type { TokenRestrictions } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";

const HEADERS = ["extra_headers", "headers"] as const;
const ADDRESSES = ["base_url", "api_base"] as const;

/** Throws `permission_required` with the path. */
export function requireNoHeaders({ options, source }: ChatRequest, restrictions: TokenRestrictions | null): void {
  if (restrictions === null || !options.needs.has("byo_endpoint")) return;
  if (options.baseUrl === null && Object.keys(options.headers).length > 0)
    throw refused(HEADERS.find((name) => source.members.has(name)) ?? "headers");
  for (const { path, params } of [...options.fallbacks, ...(options.modelList ?? [])]) {
    const name = HEADERS.find((one) => isSet(params, one));
    if (name !== undefined && !ADDRESSES.some((one) => isSet(params, one))) throw refused(`${path}.${name}`);
  }
}

function isSet(params: JsonObject, name: string): boolean {
  return params[name] !== undefined && params[name] !== null;
}

function refused(param: string): GatewayError {
  return new GatewayError(
    "permission_required",
    `${param} could select another model at the provider, but this access token is restricted to some models or routes. It can be sent only to an address set in the request.`,
    { param },
  );
}
