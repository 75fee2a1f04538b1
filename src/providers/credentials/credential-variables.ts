// Credentials in the environment, under the names and in the order of the vendors' own client libraries, and the error
// text that names these variables. Google: the google-genai library prefers project and location to an API key.
// AWS: https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html (a bearer token goes before a key pair).
// Entra: https://learn.microsoft.com/dotnet/api/azure.identity.environmentcredential
import type { Variables } from "../../config/expansion.ts";
import { type CredentialForm, GOOGLE_TOKEN_URL, type StoredCredential } from "../../core/configured/credential.ts";
import { ADDRESS_WORD } from "../../core/target.ts";
import {
  API_KEY,
  bareKey,
  entraCredential,
  entryKeysOf,
  isPlainAddress,
  OPERATORS,
  trimmedAddress,
} from "./credential-settings.ts";
import type { ProviderFamily } from "../settings.ts";

/** A `value` of `null` means that the environment does not hold it. Each fault is a sentence for the operator. */
export interface FoundValue<T> {
  readonly value: T | null;
  readonly faults: readonly string[];
}
const NOTHING: FoundValue<never> = { value: null, faults: [] };

/** The variables that error messages name for forms other than keys. */
const FORM_VARIABLES: Readonly<Partial<Record<CredentialForm, string>>> = {
  aws: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
  google: "GOOGLE_APPLICATION_CREDENTIALS",
  entra: "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
};

/**
 * The credential that the vendor's library would use. `settings` holds the settings of the family that have a value.
 */
export function environmentCredential(
  family: ProviderFamily,
  settings: Readonly<Record<string, string>>,
  environment: Variables,
): FoundValue<StoredCredential> {
  const { credentials } = family;
  const faults: string[] = [];
  const google = (): FoundValue<StoredCredential> =>
    credentials.includes("google") && (settings["project"] !== undefined || !takesProject(family))
      ? googleFile(environment)
      : NOTHING;
  const ways = [
    google,
    () => environmentKey(family, environment),
    ...(credentials.includes("aws") ? [() => awsPair(environment)] : []),
    ...(credentials.includes("entra") ? [() => entraApplication(environment)] : []),
  ];
  for (const way of ways) {
    const found = way();
    faults.push(...found.faults);
    if (found.value !== null) return { value: found.value, faults };
  }
  return { value: null, faults };
}

function takesProject({ settings }: ProviderFamily): boolean {
  return settings.some(({ name }) => name === "project");
}

function textOf(environment: Variables, name: string): string | null {
  return environment.get(name)?.trim() || null;
}

function unfit(name: string, what: string): FoundValue<never> {
  return { value: null, faults: [`the environment variable ${name} is ignored: it contains ${what}`] };
}
const NO_KEY = "characters that are not allowed in keys";

function environmentKey(family: ProviderFamily, environment: Variables): FoundValue<StoredCredential> {
  const name = family.keyVariables.find((each) => textOf(environment, each) !== null);
  if (name === undefined) return NOTHING;
  const key = textOf(environment, name)!;
  return API_KEY.test(key) ? { value: bareKey(key, family), faults: [] } : unfit(name, NO_KEY);
}

function awsPair(environment: Variables): FoundValue<StoredCredential> {
  const names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"] as const;
  const [accessKeyId, secretAccessKey, sessionToken] = names.map((name) => textOf(environment, name)) as [
    string | null,
    string | null,
    string | null,
  ];
  if (accessKeyId === null || secretAccessKey === null)
    return accessKeyId === secretAccessKey
      ? NOTHING
      : { value: null, faults: [`only one of ${names[0]} and ${names[1]} is set, so it is ignored`] };
  const bad = names.find((name) => !API_KEY.test(textOf(environment, name) ?? ""));
  return bad === undefined
    ? { value: { kind: "aws_keys", accessKeyId, secretAccessKey, sessionToken, ...OPERATORS }, faults: [] }
    : unfit(bad, NO_KEY);
}

function googleFile(environment: Variables): FoundValue<StoredCredential> {
  const path = textOf(environment, "GOOGLE_APPLICATION_CREDENTIALS");
  return path === null
    ? NOTHING
    : { value: { kind: "google_file", path, tokenUrl: GOOGLE_TOKEN_URL, ...OPERATORS }, faults: [] };
}

function entraApplication(environment: Variables): FoundValue<StoredCredential> {
  const [tenant, client, secret, file] = [
    "AZURE_TENANT_ID",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
  ].map((name) => textOf(environment, name));
  if (!tenant || !client || (!secret && !file)) return NOTHING;
  if (!ADDRESS_WORD.test(tenant)) return unfit("AZURE_TENANT_ID", "something other than the id of a directory");
  return {
    value: entraCredential({
      tenant_id: tenant,
      client_id: client,
      ...(secret ? { client_secret: secret } : { federated_token_file: file! }),
    }),
    faults: [],
  };
}

/** Each setting that has a value: the environment's, or else the default. */
export function environmentSettings(
  { settings }: ProviderFamily,
  environment: Variables,
): { readonly values: Readonly<Record<string, string>>; readonly faults: readonly string[] } {
  const values: Record<string, string> = {};
  const faults: string[] = [];
  for (const { name, variables, default: fallback } of settings) {
    const variable = variables.find((each) => textOf(environment, each) !== null);
    const value = variable === undefined ? null : textOf(environment, variable)!;
    if (value !== null && ADDRESS_WORD.test(value)) values[name] = value;
    else {
      if (fallback !== undefined) values[name] = fallback;
      if (value !== null)
        faults.push(...unfit(variable!, "something other than letters, digits, dots, underscores and dashes").faults);
    }
  }
  return { values, faults };
}

export function environmentBaseUrl({ baseUrlVariables }: ProviderFamily, environment: Variables): FoundValue<string> {
  const name = baseUrlVariables.find((each) => textOf(environment, each) !== null);
  if (name === undefined) return NOTHING;
  const text = textOf(environment, name)!;
  return isPlainAddress(text)
    ? { value: trimmedAddress(text), faults: [] }
    : unfit(name, "something other than an http or https address without user name, query and fragment");
}

/**
 * For example: `set A, or B and C, in the environment of the gateway, or providers.x.api_key or providers.x.aws in the
 * file`.
 */
export function credentialCure(family: Pick<ProviderFamily, "keyVariables" | "credentials">, id: string): string {
  const variables = [family.keyVariables[0], ...family.credentials.map((form) => FORM_VARIABLES[form])].filter(
    (name) => name !== undefined,
  );
  if (variables.length === 0) return `configure providers.${id} in the file`;
  const keys = entryKeysOf(family)
    .filter((key) => key !== "api_keys")
    .map((key) => `providers.${id}.${key}`);
  return `set ${variables.join(", or ")} in the environment of the gateway, or ${keys.join(" or ")} in the file`;
}

/** The settings in an address that have no value. */
export function openSettings(address: string, values: Readonly<Record<string, string>>): readonly string[] {
  return [...address.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!).filter((name) => values[name] === undefined);
}
