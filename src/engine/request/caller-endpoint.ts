// The endpoint that a request brings (it requires `byo_endpoint`): its address, headers, credentials and provider settings
// (`base_url`, `api_key`, `aws_*`, `vertex_*`, `api_version`). `engine/attempt/resolve-credential.ts` decides which of the
// credentials the target's provider accepts.
import type { CallerSettings, CallOptions } from "../../core/chat.ts";
import { type CredentialForm, googleServiceAccount, type StoredCredential } from "../../core/configured/credential.ts";
import { isObject, type Json, type JsonObject, jsonIn } from "../../core/json.ts";
import { invalid, invalidRequest } from "../../core/refusals.ts";
import { ADDRESS_WORD } from "../../core/target.ts";
import { API_KEY } from "../../providers/credentials/credential-settings.ts";
import { parseCallerHeaders } from "../fit/caller-headers.ts";

const SETTING_FIELDS = ["api_version", "aws_region_name", "vertex_project", "vertex_location"] as const;
const FROM_CALLER = { weight: 1, fromCaller: true } as const;
const NONE: ReadonlyMap<CredentialForm, CallerCredential> = new Map();
const NO_SETTINGS: CallerSettings = {};

export interface CallerCredential {
  readonly stored: StoredCredential;
  /** The field of the request that contained the credential, for errors. */
  readonly field: string;
}

type Fields = Readonly<Record<string, Json>>;

type Brought = Pick<CallOptions, "headers" | "baseUrl" | "baseUrlField" | "credentials" | "settings">;

export const NOTHING_BROUGHT: Brought = {
  headers: Object.freeze({}),
  baseUrl: null,
  baseUrlField: "base_url",
  credentials: NONE,
  settings: NO_SETTINGS,
};

/** Throws `invalid_request` or `header_not_allowed` with the field. */
export function parseBrought(fields: Fields): Brought {
  const baseUrl = (fields["base_url"] as string | undefined) ?? null;
  const apiBase = (fields["api_base"] as string | undefined) ?? null;
  if (baseUrl !== null && apiBase !== null && baseUrl !== apiBase)
    throw invalidRequest(
      "base_url",
      "base_url and api_base have different values but the same meaning; send one of them.",
    );
  return {
    headers: parseCallerHeaders(
      fields["headers"] as JsonObject | undefined,
      fields["extra_headers"] as JsonObject | undefined,
    ),
    baseUrl: baseUrl ?? apiBase,
    baseUrlField: baseUrl === null && apiBase !== null ? "api_base" : "base_url",
    credentials: callerCredentials(fields),
    settings: callerSettings(fields),
  };
}

/** Returns at most one credential of each form. Throws `invalid_request` with the field. */
function callerCredentials(fields: Fields): ReadonlyMap<CredentialForm, CallerCredential> {
  const [key, aws, google] = [callerKey(fields), awsPair(fields), googleAccess(fields)];
  if (key === null && aws === null && google === null) return NONE;
  const found = new Map<CredentialForm, CallerCredential>();
  if (key !== null) found.set("key", key);
  if (aws !== null) found.set("aws", aws);
  if (google !== null) found.set("google", google);
  return found;
}

/**
 * Checks the settings, so that a request cannot change an address through them (promise 1.8). Throws `invalid_request`
 * with the field.
 */
function callerSettings(fields: Fields): CallerSettings {
  let settings: Record<string, string> | null = null;
  for (const name of SETTING_FIELDS) {
    const value = fields[name];
    if (value === undefined) continue;
    if (typeof value !== "string" || !ADDRESS_WORD.test(value))
      throw invalid(name, "1 to 128 letters, digits, dots, underscores or dashes", value);
    (settings ??= {})[name] = value;
  }
  return settings ?? NO_SETTINGS;
}

function visible(fields: Fields, name: string): string | null {
  const value = fields[name];
  if (value === undefined) return null;
  if (typeof value !== "string" || !API_KEY.test(value))
    throw invalidRequest(
      name,
      `${name} must be at most 16384 visible ASCII characters without spaces and line breaks.`,
    );
  return value;
}

function callerKey(fields: Fields): CallerCredential | null {
  const secret = visible(fields, "api_key");
  return secret === null ? null : { stored: { kind: "key", secret, ...FROM_CALLER }, field: "api_key" };
}

function awsPair(fields: Fields): CallerCredential | null {
  const accessKeyId = visible(fields, "aws_access_key_id");
  const secretAccessKey = visible(fields, "aws_secret_access_key");
  const sessionToken = visible(fields, "aws_session_token");
  if (accessKeyId === null && secretAccessKey === null && sessionToken === null) return null;
  for (const [name, value] of [
    ["aws_access_key_id", accessKeyId],
    ["aws_secret_access_key", secretAccessKey],
  ] as const)
    if (value === null || value === "")
      throw invalidRequest(
        name,
        `${name} is missing: send both aws_access_key_id and aws_secret_access_key, and aws_session_token if they are temporary.`,
      );
  return {
    stored: {
      kind: "aws_keys",
      accessKeyId: accessKeyId!,
      secretAccessKey: secretAccessKey!,
      sessionToken: sessionToken || null,
      ...FROM_CALLER,
    },
    field: "aws_access_key_id",
  };
}

function googleAccess(fields: Fields): CallerCredential | null {
  const token = visible(fields, "vertex_access_token");
  const account = fields["vertex_credentials"];
  if (token !== null && account !== undefined)
    throw invalidRequest(
      "vertex_credentials",
      "vertex_access_token and vertex_credentials cannot be sent together; send one of them.",
    );
  if (token !== null) return { stored: { kind: "token", secret: token, ...FROM_CALLER }, field: "vertex_access_token" };
  if (account === undefined) return null;
  const file = typeof account === "string" ? jsonIn(account) : account;
  const parsed = isObject(file)
    ? googleServiceAccount(file)
    : 'the JSON of a service account\'s key file, with the type "service_account"';
  if (typeof parsed === "string") throw invalidRequest("vertex_credentials", `vertex_credentials must be ${parsed}.`);
  return { stored: { ...parsed, ...FROM_CALLER }, field: "vertex_credentials" };
}
