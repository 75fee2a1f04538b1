// The fields of a request that contain an address or a credential.
import type { ChatRequest } from "../../core/chat.ts";

/** Gateway fields of a request that require the permission `byo_endpoint` (promise 2.4). */
export const BYO_FIELDS = [
  "base_url",
  "api_base",
  "api_key",
  "api_version",
  "deployment_id",
  "model_list",
  "headers",
  "extra_headers",
  "aws_region_name",
  "aws_access_key_id",
  "aws_secret_access_key",
  "aws_session_token",
  "vertex_project",
  "vertex_location",
  "vertex_credentials",
  "vertex_access_token",
] as const;
export const BYO_PREFIX = /^(aws|vertex)_/;
const CHOOSING: ReadonlySet<string> = new Set([...BYO_FIELDS, "fallbacks", "context_window_fallback_dict"]);

/**
 * Whether a member of a body that is sent as the client wrote it chooses a model, an address or a credential by the name
 * that it has here: a provider may be another gateway, which acts on it.
 */
export function choosesAtProvider(name: string): boolean {
  return CHOOSING.has(name) || BYO_PREFIX.test(name);
}

/** Whether a field of a request contains an address or a credential, or belongs to one. */
export function isEndpointField(name: string): boolean {
  return BYO_PREFIX.test(name) || (name !== "model_list" && (BYO_FIELDS as readonly string[]).includes(name));
}

/** Returns the fields of the request that contain an address or a credential; null means "not set". */
export function endpointFields({ source, options }: ChatRequest): readonly string[] {
  if (options.needs.size === 0) return NONE;
  const { text, members } = source;
  let found: string[] | null = null;
  for (const [name, { valueStart, valueEnd }] of members)
    if (isEndpointField(name) && text.slice(valueStart, valueEnd) !== "null") (found ??= []).push(name);
  return found ?? NONE;
}
const NONE: readonly string[] = [];
