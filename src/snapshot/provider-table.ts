// Joins the providers of the file with what the environment sets for them: what each id stands for, and which
// credential may be sent where (promise 2.9).
import type { Variables } from "../config/expansion.ts";
import type { StoredCredential } from "../core/configured/credential.ts";
import type { ProviderSettings } from "../core/snapshot.ts";
import { entryKeysOf } from "../providers/credentials/credential-settings.ts";
import {
  credentialCure,
  environmentBaseUrl,
  environmentCredential,
  environmentSettings,
  type FoundValue,
  openSettings,
} from "../providers/credentials/credential-variables.ts";
import {
  runsInside,
  type ProviderEntry,
  type ProviderFamily,
  type ProvidersConfiguration,
} from "../providers/settings.ts";

export interface ProviderTable {
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** What an operator should know although it is not an error. Contains no values of variables. */
  readonly notices: readonly string[];
}

/** Every known family is in the table; those that are not enabled serve calls that bring their own key. */
export function compileProviders(
  configuration: ProvidersConfiguration,
  families: readonly ProviderFamily[],
  environment: Variables,
): ProviderTable {
  const providers = new Map<string, ProviderSettings>();
  const notices: string[] = [];
  for (const family of families)
    if (!configuration.entries.has(family.id)) providers.set(family.id, familySettings(family, environment, notices));
  const known = new Map(families.map((family) => [family.id, family]));
  for (const [id, entry] of configuration.entries) {
    const family = known.get(entry.family);
    if (family === undefined) throw new Error(`the configuration names the unknown provider family of ${id}`);
    const ownNotices: string[] = [];
    providers.set(id, entrySettings(id, entry, family, environment, ownNotices));
    if (entry.enabled) notices.push(...ownNotices);
  }
  return { providers, notices: [...new Set(notices)] };
}

/** For a family that the file does not name: the environment enables it once everything that a call needs is set. */
function familySettings(family: ProviderFamily, environment: Variables, notices: string[]): ProviderSettings {
  const settings = environmentSettings(family, environment);
  const address = environmentBaseUrl(family, environment);
  const credential = environmentCredential(family, settings.values, environment);
  notices.push(...settings.faults, ...address.faults, ...credential.faults);
  const baseUrl = address.value ?? family.baseUrl;
  const mayBeCalled =
    credential.value !== null || ((needsNone(family) || runsLocally(family)) && address.value !== null);
  const enabled =
    runsInside(family) || (mayBeCalled && baseUrl !== null && openSettings(baseUrl, settings.values).length === 0);
  return {
    id: family.id,
    family: family.id,
    baseUrl,
    credentials: enabled && credential.value !== null ? [credential.value] : [],
    settings: settings.values,
    enabled,
    models: [],
    ...elsewhereWhere(baseUrl, family),
    ...guardedWhere(!enabled && address.value === null, family),
  };
}

function elsewhereWhere(baseUrl: string | null, family: ProviderFamily): Pick<ProviderSettings, "isElsewhere"> {
  return baseUrl === family.baseUrl || isOwnAddress(baseUrl, family) ? {} : { isElsewhere: true };
}

/**
 * An address that only the family's row defines is called for callers with their own key; no operator has permitted it
 * explicitly (promise 2.12).
 */
function guardedWhere(isUnsaid: boolean, family: ProviderFamily): Pick<ProviderSettings, "guarded"> {
  return isUnsaid && !runsInside(family) ? { guarded: true } : {};
}

function needsNone({ keyVariables, credentials }: ProviderFamily): boolean {
  return keyVariables.length === 0 && credentials.every((form) => form === "key");
}

/** The settings for an entry of the file or the store. `notices` receives what an operator should know about it. */
export function entrySettings(
  id: string,
  entry: ProviderEntry,
  family: ProviderFamily,
  environment: Variables,
  notices: string[],
): ProviderSettings {
  const ofEnvironment = environmentSettings(family, environment);
  const settings = { ...ofEnvironment.values, ...entry.settings };
  // Like the key, the address belongs to the account whose id is the family's.
  const address: FoundValue<string> =
    entry.baseUrl === null && id === family.id ? environmentBaseUrl(family, environment) : { value: null, faults: [] };
  const baseUrl = entry.baseUrl ?? address.value ?? family.baseUrl;
  const credentials = entry.enabled ? entryCredentials(id, entry, family, { settings, environment, notices }) : [];
  notices.push(...ofEnvironment.faults, ...address.faults);
  if (baseUrl === null)
    notices.push(
      `providers.${id} has no address: set ${family.baseUrlVariables[0] ?? "base_url"}, or base_url in the file`,
    );
  else
    for (const name of openSettings(baseUrl, settings))
      notices.push(`providers.${id} has no ${name}: ${settingCure(name, family)}`);
  return {
    id,
    family: family.id,
    baseUrl,
    credentials,
    settings,
    enabled: entry.enabled,
    models: entry.models,
    ...(entry.sharesConnections && { sharesConnections: true }),
    ...(entry.native !== null && { native: entry.native }),
    ...elsewhereWhere(baseUrl, family),
    ...hostedToolsOf(entry),
    ...(entry.vendorStore && { vendorStore: true }),
    ...guardedWhere(!entry.enabled && entry.baseUrl === null && address.value === null, family),
  };
}

function hostedToolsOf({ hostedTools }: ProviderEntry): Pick<ProviderSettings, "hostedTools" | "hostedToolPrices"> {
  if (hostedTools === null) return {};
  const priced = hostedTools.filter(({ nanoUsd }) => nanoUsd !== null);
  return {
    hostedTools: hostedTools.map(({ type }) => type),
    ...(priced.length > 0 && {
      hostedToolPrices: Object.fromEntries(priced.map(({ type, nanoUsd }) => [type, nanoUsd!])),
    }),
  };
}

function settingCure(name: string, { settings }: ProviderFamily): string {
  const variable = settings.find((one) => one.name === name)?.variables[0];
  return variable === undefined ? `set ${name} in the file` : `set ${variable}, or ${name} in the file`;
}

interface Surroundings {
  readonly settings: Readonly<Record<string, string>>;
  readonly environment: Variables;
  readonly notices: string[];
}

function entryCredentials(
  id: string,
  entry: ProviderEntry,
  family: ProviderFamily,
  { settings, environment, notices }: Surroundings,
): readonly StoredCredential[] {
  if (entry.credentials.length > 0) return entry.credentials;
  const place = `providers.${id}`;
  const [variable] = family.keyVariables;
  const keys = entryKeysOf(family).filter((key) => key !== "api_keys");
  if (needsNone(family)) return [];
  if (id !== family.id) {
    // The variable belongs to the account whose id is the family's; another account has its own.
    if (entry.baseUrl === null)
      notices.push(
        `${place} has no ${keys.join(" or ")}; ${variable ?? "the environment's credential"} is not used automatically for a provider with another id`,
      );
    return [];
  }
  const found = environmentCredential(family, settings, environment);
  notices.push(...found.faults);
  if (found.value === null) {
    if (found.faults.length === 0 && entry.baseUrl === null) notices.push(noCredential(id, family));
    return [];
  }
  if (entry.tokenUrl !== null)
    notices.push(
      `${place}: the credential of the environment is not sent to the token_url of the file; set the credential in the file, next to token_url`,
    );
  else if (isOwnAddress(entry.baseUrl, family)) return [found.value];
  else if (found.value.kind === "key")
    notices.push(
      `${place}: the key of the environment is only sent to ${family.label}'s own addresses; set api_key: "\${${variable}}" to send it to this one`,
    );
  else
    notices.push(
      `${place}: the credential of the environment is only sent to ${family.label}'s own addresses; set it in the file to send it to this one`,
    );
  return [];
}

function noCredential(id: string, family: ProviderFamily): string {
  const plain = family.credentials.every((form) => form === "key");
  return plain
    ? `providers.${id} has no key: set ${family.keyVariables[0]}, or api_key in the file`
    : `providers.${id} has no credential: ${credentialCure(family, id)}`;
}

/**
 * Servers that operators run themselves, on this machine unless configured otherwise. What a key is for, if anything,
 * is up to the operator.
 */
function runsLocally({ baseUrl }: ProviderFamily): boolean {
  return baseUrl !== null && /^https?:\/\/(localhost|127\.[\d.]+|\[::1\])(:\d+)?(\/|$)/i.test(baseUrl);
}

/**
 * Whether a credential that was given for `family` may be sent to `baseUrl`. A family of servers that operators run
 * themselves has no address of its own.
 */
function isOwnAddress(baseUrl: string | null, family: ProviderFamily): boolean {
  if (baseUrl === null || family.baseUrl === null) return true;
  if (runsLocally(family)) return true;
  // A setting in the host stands for one label of it: the address of any region belongs to the provider.
  const [origin] = /^https?:\/\/[^/]+/i.exec(family.baseUrl) ?? [""];
  const labels = origin.split(/\{\w+\}/).map((part) => RegExp.escape(part));
  const given = new URL(baseUrl).origin;
  return new RegExp(`^${labels.join("[a-z0-9-]+")}$`, "i").test(given) || family.otherOrigins?.test(given) === true;
}
