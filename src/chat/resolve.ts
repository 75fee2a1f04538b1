// `route` and `model` of a request -> the one target of a direct call (decisions 1.1, 1.3 to 1.5, 1.8 and 2.9).
import type { CallOptions } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import type { ProviderSettings, Snapshot } from "../core/snapshot.ts";
import type { Credential, Target } from "../core/target.ts";
import type { Provider } from "../providers/provider.ts";

export const DIRECT_ROUTE = "direct";
const MAX_ADDRESS = 2048;

export interface Resolved {
  readonly target: Target;
  readonly provider: Provider;
}

/** Throws `route_not_found`, `model_not_found`, `invalid_request`. */
export function resolveTarget(options: CallOptions, snapshot: Snapshot, providers: ReadonlyMap<string, Provider>): Resolved {
  if (options.route !== null && options.route !== DIRECT_ROUTE) throw new GatewayError("route_not_found", `There is no route ${quoted(options.route)}.`, { param: "route" });
  if (options.model === null || options.model === "") throw new GatewayError("invalid_request", "model is required: <provider>:<model_name>, as GET /api/v1/models lists them.", { param: "model" });
  const { settings, model } = splitModel(options.model, snapshot);
  const provider = providers.get(settings.family);
  if (provider === undefined) throw new GatewayError("model_not_found", `The provider ${quoted(settings.id)} is not served.`, { param: "model" });
  checkModelName(model);
  return { provider, target: directTarget(options, settings, provider, model) };
}

/** At the first `:` or `/`, where what stands before it is a known provider; what follows may hold both. */
function splitModel(asked: string, snapshot: Snapshot): { readonly settings: ProviderSettings; readonly model: string } {
  const at = asked.search(/[:/]/);
  const settings = at > 0 ? snapshot.providers.get(asked.slice(0, at)) : undefined;
  if (settings === undefined || at === asked.length - 1)
    throw new GatewayError("model_not_found", `The model ${quoted(asked)} is unknown. A model is written <provider>:<model_name>; GET /api/v1/models lists what this token may call.`, { param: "model" });
  return { settings, model: asked.slice(at + 1) };
}

function checkModelName(model: string): void {
  if (model.length > 256 || !/^[\x21-\x7e]+$/.test(model) || model.includes("..") || /[?#]/.test(model))
    throw new GatewayError("invalid_request", "A model name is at most 256 printable ASCII characters without spaces, '..', '?' and '#'.", { param: "model" });
}

function directTarget(options: CallOptions, settings: ProviderSettings, provider: Provider, model: string): Target {
  const ownAddress = options.baseUrl;
  const baseUrl = ownAddress === null ? (settings.baseUrl ?? provider.baseUrl) : trimmedBaseUrl(ownAddress, options.baseUrlField);
  // a stored credential goes only to the address that was configured with it
  const stored: Credential | null = settings.apiKey === null ? null : { apiKey: settings.apiKey, fromCaller: false };
  const credential = options.apiKey !== null ? { apiKey: options.apiKey, fromCaller: true } : ownAddress === null ? stored : null;
  if (!settings.enabled && options.apiKey === null && ownAddress === null) throw notEnabled(settings, provider);
  if (baseUrl === null) throw new GatewayError("invalid_request", `The provider ${quoted(settings.id)} has no address of its own; send base_url, or configure providers.${settings.id}.base_url.`, { param: "base_url" });
  return { providerId: settings.id, family: settings.family, model, baseUrl, credential, apiVersion: options.apiVersion, headers: options.headers, guardedField: ownAddress === null ? null : options.baseUrlField };
}

function notEnabled(settings: ProviderSettings, provider: Provider): GatewayError {
  const variable = provider.keyVariables[0];
  const cure = variable === undefined ? `configure providers.${settings.id} in the file` : `set ${variable} in the environment of the gateway, or providers.${settings.id}.api_key in the file`;
  return new GatewayError("model_not_found", `The provider ${quoted(settings.id)} is not enabled: ${cure}.`, { param: "model" });
}

/** Throws `invalid_request` for what is no plain http or https address. */
function trimmedBaseUrl(text: string, param: string): string {
  // patterns run over an address that take the square of its length
  if (text.length > MAX_ADDRESS) throw new GatewayError("invalid_request", `${param} must have at most ${MAX_ADDRESS} characters; got ${text.length}.`, { param });
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new GatewayError("invalid_request", `${param} must be an absolute http or https address.`, { param });
  }
  if ((url.protocol !== "http:" && url.protocol !== "https:") || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new GatewayError("invalid_request", `${param} must be an http or https address without user, query and fragment.`, { param });
  return url.href.replace(/\/+$/, "");
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
