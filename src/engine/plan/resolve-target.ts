// Resolves a provider's id and a model to a target: address, settings and credentials (promises 1.4, 1.8 and 2.9).
import { modelKnowledge } from "../../accounting/model-catalogue.ts";
import type { CallOptions, SpokenOperation } from "../../core/chat.ts";
import { IBM_TOKEN_URL, type StoredCredential } from "../../core/configured/credential.ts";
import { type GatewayError } from "../../core/errors.ts";
import { invalidRequest, modelNotFound } from "../../core/refusals.ts";
import type { ProviderSettings, Snapshot } from "../../core/snapshot.ts";
import { CHOSEN_BY, type Target } from "../../core/target.ts";
import { credentialCure, openSettings } from "../../providers/credentials/credential-variables.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { quoted } from "../../routing/resolve-route.ts";

const MAX_ADDRESS = 2048;

export interface Resolved {
  readonly target: Target;
  readonly provider: Provider;
  /**
   * One of them is resolved for the target before it is called; empty when the target is called without a credential.
   */
  readonly credentials: readonly StoredCredential[];
  /** Set where the target is sent what the client wrote; `provider` then has the operation in place of chat completions. */
  readonly spoken?: SpokenOperation;
}
/** What a request may say of where it goes. */
export type TargetOptions = Pick<CallOptions, "baseUrl" | "baseUrlField" | "credentials" | "headers" | "settings">;

/** For a target that is called as it is configured. */
export const NOTHING_BROUGHT: TargetOptions = {
  baseUrl: null,
  baseUrlField: "base_url",
  credentials: new Map(),
  headers: {},
  settings: {},
};

const NO_CREDENTIALS: readonly StoredCredential[] = [];

/**
 * Returns a model of a provider as a target: its address, its settings, what is known of it, and the credentials that
 * may be used. `options` are those of the request that goes there. Throws `model_not_found` or `invalid_request`.
 */
export function targetFor(
  providerId: string,
  model: string,
  options: TargetOptions,
  snapshot: Snapshot,
  providers: ReadonlyMap<string, Provider>,
): Resolved {
  const settings = snapshot.providers.get(providerId);
  const provider = settings === undefined ? undefined : providers.get(settings.family);
  if (settings === undefined || provider === undefined)
    throw modelNotFound("model", `Unknown provider ${quoted(providerId)}.`);
  const { baseUrl: ownAddress, baseUrlField } = options;
  const template =
    ownAddress === null ? (settings.baseUrl ?? provider.baseUrl) : trimmedBaseUrl(ownAddress, baseUrlField);
  const brought = broughtCredential(options, provider);
  if (!settings.enabled && brought === null && ownAddress === null) throw notEnabled(settings, provider);
  if (brought === null && ownAddress === null && lacksCredential(settings, provider))
    throw noCredential(settings, provider);
  if (template === null)
    throw invalidRequest(
      "base_url",
      `The provider ${quoted(settings.id)} has no default address; send base_url, or configure providers.${settings.id}.base_url.`,
    );
  const values = settingsOf(options, settings, provider);
  const target: Target = {
    providerId: settings.id,
    family: settings.family,
    model,
    baseUrl: template.includes("{") ? filledAddress(template, values, options, settings, provider) : template,
    credential: null,
    settings: values,
    facts: modelKnowledge(settings, provider, model).facts,
    headers: options.headers,
    guardedField: ownAddress !== null ? baseUrlField : settings.guarded === true ? CHOSEN_BY : null,
    isCallersAddress: ownAddress !== null,
    sharesConnections: settings.sharesConnections === true && ownAddress === null && brought === null,
  };
  // a stored credential is sent only to the address that was configured with it (promise 2.9)
  return {
    provider,
    target,
    credentials: brought !== null ? [brought] : ownAddress === null ? settings.credentials : NO_CREDENTIALS,
  };
}

/**
 * Returns the credential that the request contains; one of a cloud overrides `api_key`. Throws `invalid_request` for a
 * form that the provider does not accept.
 */
function broughtCredential({ credentials }: TargetOptions, provider: Provider): StoredCredential | null {
  if (credentials.size === 0) return null;
  for (const [form, { field }] of credentials)
    if (form !== "key" && !provider.credentials.includes(form))
      throw invalidRequest(field, `${provider.label} does not accept the credential ${field}.`);
  const { stored } = credentials.get("aws") ?? credentials.get("google") ?? credentials.get("key")!;
  if (stored.kind === "key" && provider.credentials[0] === "ibm_iam")
    return { kind: "ibm_iam", apiKey: stored.secret, tokenUrl: IBM_TOKEN_URL, weight: 1, fromCaller: true };
  return stored;
}

/** Leaves out settings that the provider does not use; fit.ts reports them. */
function settingsOf(
  { settings: brought }: TargetOptions,
  { settings: stored }: ProviderSettings,
  provider: Provider,
): Readonly<Record<string, string>> {
  let values: Record<string, string> | null = null;
  for (const field in brought) {
    const setting = provider.settings.find((one) => one.field === field);
    if (setting !== undefined) (values ??= { ...stored })[setting.name] = brought[field as keyof typeof brought]!;
  }
  return values ?? stored;
}

/** Throws `invalid_request` that names the setting, where to set it, and the field of a request. */
function filledAddress(
  template: string,
  values: Readonly<Record<string, string>>,
  { settings: brought }: TargetOptions,
  { id }: ProviderSettings,
  provider: Provider,
): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string, at: number) => {
    const value = values[name];
    const field = provider.settings.find((one) => one.name === name)?.field;
    // a dot would select another host of the same domain, such as `s3.us-east-1`, which may belong to anyone
    if (value?.includes(".") === true && field !== undefined && brought[field] !== undefined && inHost(template, at))
      throw invalidRequest(field, `${field} is one label of a host name and cannot contain dots.`);
    if (value !== undefined) return value;
    const ways = [...(field === undefined ? [] : [field]), ...settingWays(name, id, provider)];
    throw invalidRequest(field ?? null, `${provider.label} needs a ${name}: set ${ways.join(", or ")}.`);
  });
}

function inHost(template: string, at: number): boolean {
  return !/\/\/[^/]*\//.test(template.slice(0, at));
}

/** Returns where an operator can set it. */
function settingWays(name: string, id: string, provider: Provider): readonly string[] {
  const variable = provider.settings.find((one) => one.name === name)?.variables[0];
  return [
    `providers.${id}.${name} in the file`,
    ...(variable === undefined ? [] : [`${variable} in the environment of the gateway`]),
  ];
}

function notEnabled(settings: ProviderSettings, provider: Provider): GatewayError {
  const open = settings.baseUrl === null ? [] : openSettings(settings.baseUrl, settings.settings);
  const also = open
    .map((name) => ` It also needs a ${name}: set ${settingWays(name, settings.id, provider).join(", or ")}.`)
    .join("");
  return modelNotFound(
    "model",
    `The provider ${quoted(settings.id)} is not enabled: ${credentialCure(provider, settings.id)}.${also}`,
  );
}

/** Whether a call could only be refused: a cloud is never called without a credential at its own address. */
function lacksCredential({ enabled, credentials, baseUrl }: ProviderSettings, provider: Provider): boolean {
  return (
    enabled &&
    credentials.length === 0 &&
    provider.credentials.some((form) => form !== "key") &&
    baseUrl === provider.baseUrl
  );
}

function noCredential({ id }: ProviderSettings, provider: Provider): GatewayError {
  return modelNotFound("model", `The provider ${quoted(id)} has no credential: ${credentialCure(provider, id)}.`);
}

/** Throws `invalid_request` for anything but a plain http or https address. */
function trimmedBaseUrl(text: string, param: string): string {
  // some patterns take time quadratic in the length of an address
  if (text.length > MAX_ADDRESS)
    throw invalidRequest(param, `${param} must have at most ${MAX_ADDRESS} characters; got ${text.length}.`);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalidRequest(param, `${param} must be an absolute http or https address.`);
  }
  if (
    (url.protocol !== "http:" && url.protocol !== "https:") ||
    url.username !== "" ||
    url.password !== "" ||
    url.search !== "" ||
    url.hash !== ""
  )
    throw invalidRequest(param, `${param} must be an http or https address without user, query and fragment.`);
  return url.href.replace(/\/+$/, "");
}
