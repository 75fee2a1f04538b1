// The keys of a provider's entry that hold credentials, and the stored credentials that are made of them. Their forms:
// AWS: https://docs.aws.amazon.com/sdkref/latest/guide/creds-config-files.html
// Google: https://cloud.google.com/docs/authentication
// Entra: https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
// IBM: https://cloud.ibm.com/docs/account?topic=account-iamtoken_from_apikey
import { z } from "zod";
import {
  type CredentialForm,
  ENTRA_TOKEN_URL,
  GOOGLE_TOKEN_URL,
  googleServiceAccount,
  IBM_TOKEN_URL,
  type StoredCredential,
} from "../../core/configured/credential.ts";
import { isObject, type Json } from "../../core/json.ts";
import { ADDRESS_WORD } from "../../core/target.ts";
import type { Provider } from "../interface/provider.ts";
import type { Finding } from "../../config/problem.ts";

type Family = Pick<Provider, "label" | "credentials">;

/** Characters that a header can hold. A key with a line break in it would fail at every call. */
export const API_KEY = /^[\x21-\x7e]{0,16384}$/;
const SECRET = /^[\x21-\x7e]{1,16384}$/;
const ABSOLUTE_PATH = /^(\/|[A-Za-z]:[\\/]).{1,4095}$/;
/**
 * The scope of the tokens that are requested, unless the entry has a `scope`:
 * https://learn.microsoft.com/azure/ai-foundry/openai/how-to/managed-identity
 */
export const ENTRA_SCOPE = "https://cognitiveservices.azure.com/.default";

export function isPlainAddress(text: string): boolean {
  if (!/^https?:\/\/[^\s\\?#]+$/i.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.username === "" && url.password === "" && !text.includes("@");
}
/** The form in which an address is stored and compared: without a slash at the end. */
export function trimmedAddress(text: string): string {
  return new URL(text).href.replace(/\/+$/, "");
}

const PRINTABLE = "expected printable characters without spaces and line breaks";
const secret = (title: string, description: string) => z.string().regex(SECRET, PRINTABLE).meta({ title, description });
const word = (title: string, description: string) =>
  z
    .string()
    .regex(ADDRESS_WORD, "expected 1 to 128 letters, digits, dots, underscores or dashes")
    .meta({ title, description });
const path = (title: string, description: string) =>
  z.string().regex(ABSOLUTE_PATH, "expected an absolute path").meta({ title, description });
const byDefault = z
  .string()
  .regex(/^default$/, 'expected "default" or a mapping')
  .meta({ title: "default", description: "The credential that the cloud's own chain finds." });

const weighted = z.strictObject({
  key: secret("Key", 'The key; in a configuration file best as `"${NAME}"` or `"${file:/run/secrets/name}"`.'),
  weight: z.int().min(1).max(1000).default(1).meta({
    title: "Weight",
    description: "Share of calls: a key with weight 2 gets twice as many as one with weight 1.",
  }),
});

export const CREDENTIAL_KEYS = {
  api_key: z.string().regex(API_KEY, PRINTABLE).optional().meta({
    title: "API key",
    description:
      'Credential; in a configuration file best as `"${NAME}"` or `"${file:/run/secrets/name}"`. If it is not set or empty, the provider\'s environment variable is used, but only for the provider\'s own id at an address of the vendor.',
  }),
  api_keys: z
    .array(z.union([secret("Key", "One of the keys."), weighted]))
    .min(1)
    .max(1000)
    .optional()
    .meta({
      title: "API keys",
      description:
        "Several keys instead of one, among which calls are divided by weight. A key that the provider refuses is not used for a while.",
    }),
  aws: z
    .union([
      byDefault,
      z.strictObject({
        access_key_id: secret("Access key id", "The id of the access key.").optional(),
        secret_access_key: secret("Secret access key", "The secret of the access key.").optional(),
        session_token: secret("Session token", "The session token of temporary keys.").optional(),
        profile: z
          .string()
          .regex(/^[^\p{Cc}]{1,128}$/u, "expected the name of a profile")
          .optional()
          .meta({ title: "Profile", description: "A profile of the shared AWS files, instead of keys." }),
      }),
    ])
    .optional()
    .meta({
      title: "AWS",
      description:
        "Access keys or a profile, or `default` for AWS's own chain: environment, shared files, web identity, container, instance.",
    }),
  google: z
    .union([
      byDefault,
      z.strictObject({
        credentials_file: path(
          "Credentials file",
          "Absolute path of a credentials file, read when a token is needed.",
        ).optional(),
        service_account: z.string().min(1).max(65_536).optional().meta({
          title: "Service account",
          description:
            'JSON of a service account\'s key file; in a configuration file best as `"${file:/run/secrets/name}"`.',
        }),
      }),
    ])
    .optional()
    .meta({
      title: "Google",
      description:
        "Key of a service account, or `default` for Google's application default credentials, which need the package `google-auth-library`.",
    }),
  entra: z
    .strictObject({
      tenant_id: word("Tenant", "The id of the directory (tenant)."),
      client_id: word("Client", "The id of the application (client)."),
      client_secret: secret("Client secret", "The secret of the application.").optional(),
      federated_token_file: path(
        "Token file",
        "Absolute path of a file with an assertion, instead of a secret (workload identity).",
      ).optional(),
      scope: secret("Scope", `The scope of the token. The default is \`${ENTRA_SCOPE}\`.`).optional(),
    })
    .optional()
    .meta({
      title: "Entra ID",
      description: "Application of Microsoft Entra ID whose tokens authenticate calls to the provider.",
    }),
  token_url: z
    .string()
    .refine(isPlainAddress, "expected an http or https address without user name, query and fragment")
    .transform(trimmedAddress)
    .optional()
    .meta({
      title: "Token URL",
      description:
        "Address of the token service, if it is not the vendor's public one, such as a sovereign cloud or a proxy. Credentials of the environment are not sent there.",
    }),
} as const;
const CREDENTIALS_SCHEMA = z.strictObject(CREDENTIAL_KEYS);
type CredentialSection = z.output<typeof CREDENTIALS_SCHEMA>;

const ENTRY_KEYS = ["api_key", "api_keys", "aws", "google", "entra"] as const;
type EntryKey = (typeof ENTRY_KEYS)[number];
/** Forms for which a token is requested from a service that has an address. */
const EXCHANGED: ReadonlySet<CredentialForm> = new Set(["google", "entra", "ibm_iam"]);

/** Whether the credential is an identity of the machine or a file on it, which only an operator may configure. */
export function lentByMachine({ kind }: StoredCredential): boolean {
  return kind === "aws_chain" || kind === "google_file" || kind === "google_default" || kind === "entra_federated";
}

/** The keys of an entry with which `family` can be called, such as `api_key` and `aws`. */
export function entryKeysOf({ credentials }: Pick<Provider, "credentials">): readonly EntryKey[] {
  return ENTRY_KEYS.filter((key) =>
    key === "api_key" || key === "api_keys"
      ? credentials.includes("key") || credentials.includes("ibm_iam")
      : credentials.includes(key),
  );
}

export function credentialProblem(section: CredentialSection, family: Family): Finding | null {
  const present = ENTRY_KEYS.filter((key) => section[key] !== undefined && section[key] !== "");
  const known = entryKeysOf(family);
  const foreign = present.find((key) => !known.includes(key));
  if (foreign !== undefined)
    return {
      path: [foreign],
      message: `${family.label} does not accept this credential; it takes ${known.join(", ")}`,
    };
  if (present.length > 1)
    return {
      path: [present[1]!],
      message: `cannot be combined with ${present[0]}; set one of them, or configure a second provider for another account`,
    };
  if (section.token_url !== undefined && !family.credentials.some((form) => EXCHANGED.has(form)))
    return { path: ["token_url"], message: `${family.label} has no token service` };
  return awsProblem(section.aws) ?? googleProblem(section.google) ?? entraProblem(section.entra);
}

function awsProblem(aws: CredentialSection["aws"]): Finding | null {
  if (aws === undefined || typeof aws === "string") return null;
  const { access_key_id: id, secret_access_key: other, session_token: session, profile } = aws;
  if (profile !== undefined)
    return id === undefined && other === undefined && session === undefined
      ? null
      : { path: ["aws", "profile"], message: "expected a profile or a pair of keys, not both" };
  if (id === undefined)
    return {
      path: ["aws", "access_key_id"],
      message: "is missing: expected access_key_id and secret_access_key, or profile, or aws: default",
    };
  return other === undefined
    ? { path: ["aws", "secret_access_key"], message: "is missing: access_key_id needs it" }
    : null;
}

function googleProblem(google: CredentialSection["google"]): Finding | null {
  if (google === undefined || typeof google === "string") return null;
  const { credentials_file: file, service_account: account } = google;
  if ((file === undefined) === (account === undefined))
    return { path: ["google"], message: "expected one of credentials_file and service_account, or google: default" };
  const parsed = account === undefined ? null : serviceAccount(account);
  return typeof parsed === "string" ? { path: ["google", "service_account"], message: `expected ${parsed}` } : null;
}

function entraProblem(entra: CredentialSection["entra"]): Finding | null {
  if (entra === undefined || (entra.client_secret === undefined) !== (entra.federated_token_file === undefined))
    return null;
  return { path: ["entra"], message: "expected one of client_secret and federated_token_file" };
}

/** The parsed service account, or a description of what was expected. */
function serviceAccount(text: string): ReturnType<typeof googleServiceAccount> {
  const expected = 'the JSON of a service account\'s key file, with the type "service_account"';
  try {
    const file = JSON.parse(text) as Json;
    return isObject(file) ? googleServiceAccount(file) : expected;
  } catch {
    return expected;
  }
}

/** The credentials of a section that has no problems. Empty when the section holds none. */
export function storedCredentials(section: CredentialSection, family: Family): readonly StoredCredential[] {
  const { aws, google, entra, token_url: tokenUrl } = section;
  if (section.api_key) return [bareKey(section.api_key, family, { tokenUrl })];
  if (section.api_keys !== undefined)
    return section.api_keys.map((one) =>
      typeof one === "string"
        ? bareKey(one, family, { tokenUrl })
        : bareKey(one.key, family, { tokenUrl, weight: one.weight }),
    );
  if (aws === "default") return [{ kind: "aws_chain", profile: null, ...OPERATORS }];
  if (typeof aws === "object" && aws.profile !== undefined)
    return [{ kind: "aws_chain", profile: aws.profile, ...OPERATORS }];
  if (typeof aws === "object")
    return [
      {
        kind: "aws_keys",
        accessKeyId: aws.access_key_id!,
        secretAccessKey: aws.secret_access_key!,
        sessionToken: aws.session_token ?? null,
        ...OPERATORS,
      },
    ];
  if (google === "default") return [{ kind: "google_default", ...OPERATORS }];
  if (typeof google === "object" && google.credentials_file !== undefined)
    return [
      { kind: "google_file", path: google.credentials_file, tokenUrl: tokenUrl ?? GOOGLE_TOKEN_URL, ...OPERATORS },
    ];
  if (typeof google === "object")
    return [
      {
        ...(serviceAccount(google.service_account!) as Exclude<ReturnType<typeof serviceAccount>, string>),
        ...(tokenUrl !== undefined && { tokenUrl }),
        ...OPERATORS,
      },
    ];
  return entra === undefined ? [] : [entraCredential({ ...entra, tokenUrl })];
}

export const OPERATORS = { weight: 1, fromCaller: false } as const;

/** What a bare key means for the family: the key itself, or an API key that is exchanged for a token. */
export function bareKey(
  key: string,
  { credentials }: Pick<Provider, "credentials">,
  { tokenUrl, weight = 1 }: { readonly tokenUrl?: string | undefined; readonly weight?: number } = {},
): StoredCredential {
  if (credentials[0] === "ibm_iam")
    return { kind: "ibm_iam", apiKey: key, tokenUrl: tokenUrl ?? IBM_TOKEN_URL, weight, fromCaller: false };
  return { kind: "key", secret: key, weight, fromCaller: false };
}

export function entraCredential({
  tenant_id: tenantId,
  client_id: clientId,
  client_secret: clientSecret,
  federated_token_file: tokenFile,
  scope = ENTRA_SCOPE,
  tokenUrl,
}: NonNullable<CredentialSection["entra"]> & { readonly tokenUrl?: string | undefined }): StoredCredential {
  const application = {
    tenantId,
    clientId,
    scope,
    tokenUrl: tokenUrl ?? ENTRA_TOKEN_URL.replace("{tenant}", tenantId),
    ...OPERATORS,
  };
  return clientSecret === undefined
    ? { kind: "entra_federated", tokenFile: tokenFile!, ...application }
    : { kind: "entra_client", clientSecret, ...application };
}
