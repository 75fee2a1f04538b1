// The account at a provider that a deployment of LiteLLM calls: its address, its credential and the settings of the
// provider's own. https://docs.litellm.ai/docs/proxy/configs
import type { ProviderFamily } from "../../providers/settings.ts";
import { isOpenAiAddress, placeholderUrl } from "../address.ts";
import type { EnvironmentTexts, FoundText } from "../environment-texts.ts";
import { textOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import type { Mapping, Value } from "../reference.ts";
import type { DeployedModel } from "./provider-names.ts";
import { meantAddress, OF_THE_PATH } from "./whole-address.ts";

/** The settings of a deployment by name: its own, and those of the credential that it names. */
export type Settings = ReadonlyMap<string, ForeignNode>;

/** A part of an entry, with what is to be said about the node that it is made of. */
interface Part {
  readonly key: string;
  readonly value: Value;
  readonly node: ForeignNode | null;
  readonly how: string | null;
}

/** Settings of which the account is made. */
export const ACCOUNT_SETTINGS: ReadonlySet<string> = new Set([
  "api_key",
  "api_base",
  "base_url",
  "aws_access_key_id",
  "aws_secret_access_key",
  "aws_session_token",
  "aws_profile_name",
  "tenant_id",
  "client_id",
  "client_secret",
  "vertex_credentials",
  "custom_llm_provider",
]);

/** Families that keep their own id although the deployment has an address of its own. */
const ADDRESSED: ReadonlySet<string> = new Set([
  "azure",
  "azure_ai",
  "ollama",
  "vllm",
  "lmstudio",
  "litellm",
  "custom",
]);

/** Returns the id of the account's entry. */
export function deploymentAccount(
  named: DeployedModel,
  settings: Settings,
  { claims, draft, families, texts }: ImportContext,
): string {
  const address = settings.get("api_base") ?? settings.get("base_url");
  // at an address of its own, what speaks OpenAI's API is any server with that API
  const isElsewhere = address !== undefined && !isOpenAiAddress(textOf(address) ?? "");
  const spoken = named.name.family === "openai" && isElsewhere ? "custom" : named.name.family;
  const { family: familyId, found, settings: inAddress } = meantAddress(spoken, named.model, address, texts);
  const family = families.get(familyId)!;
  const parts: readonly Part[] = [
    ...addressParts(family, named.name.address, address, found),
    ...credentialParts(named, family, settings, texts),
    ...ownSettings(family, settings, texts).filter(({ key }) => !Object.hasOwn(inAddress, key)),
    ...Object.entries(inAddress).map(([key, value]): Part => ({ key, value, node: address!, how: OF_THE_PATH })),
  ];
  const id = draft.account({ family: familyId, wantedId: wantedId(named, familyId, found), entry: entryOf(parts) });
  for (const { node, key, how } of parts) if (node !== null) claims.moved(node, `providers.${id}.${key}`, how);
  for (const { node } of ownSettings(family, settings, texts))
    if (node !== null) claims.without(node, "the address names another, which counts");
  return id;
}

function wantedId({ prefix }: DeployedModel, familyId: string, found: FoundText | null): string {
  if (found === null || ADDRESSED.has(prefix) || prefix !== "openai" || familyId === "openai") return prefix;
  const host = typeof found.value === "string" && URL.canParse(found.value) ? new URL(found.value).host : familyId;
  return host.replaceAll(/[:.]+/g, "-");
}

function partOf(key: string, node: ForeignNode | undefined, found: FoundText | null): readonly Part[] {
  return found === null ? [] : [{ key, value: found.value, node: node ?? null, how: found.how }];
}

/** Parts such as `aws.profile` are members of one mapping. */
function entryOf(parts: readonly Part[]): Mapping {
  const entry: Record<string, Value> = {};
  for (const { key, value } of parts) {
    const [outer, member] = key.split(".") as [string, string | undefined];
    entry[outer] = member === undefined ? value : { ...(entry[outer] as Mapping | undefined), [member]: value };
  }
  return entry;
}

function addressParts(
  family: ProviderFamily,
  known: string | undefined,
  node: ForeignNode | undefined,
  found: FoundText | null,
): readonly Part[] {
  if (found !== null) return partOf("base_url", node, found);
  if (family.baseUrl !== null) return [];
  return [{ key: "base_url", value: known ?? placeholderUrl(`address-of-${family.id}`), node: null, how: null }];
}

function credentialParts(
  { prefix, name }: DeployedModel,
  family: ProviderFamily,
  settings: Settings,
  texts: EnvironmentTexts,
): readonly Part[] {
  const isCloud = name.keyVariable === undefined && !settings.has("api_key");
  if (isCloud && family.credentials.includes("aws")) return awsParts(settings, texts);
  if (isCloud && family.credentials.includes("google")) return googleParts(settings, texts);
  if (family.credentials.includes("entra") && ENTRA.every((key) => settings.has(key)))
    return entraParts(settings, texts);
  if (!family.credentials.includes("key") && !family.credentials.includes("ibm_iam")) return [];
  const node = settings.get("api_key");
  // without this value, an entry with the provider's own id would use another key of the environment
  const unset = family.keyVariables.includes(texts.variableOf(node) ?? "") ? "" : "unset";
  const secret = texts.secret(node, `${prefix}_api_key`, unset);
  if (secret !== null) return partOf("api_key", node, secret);
  if (name.keyVariable === undefined || (family.id === "custom" && name.address === undefined)) return [];
  const value = texts.referenceTo(name.keyVariable);
  return [
    {
      key: "api_key",
      value,
      node: node ?? null,
      how: `what stands there cannot be a key; the key is taken from the variable ${name.keyVariable}`,
    },
  ];
}

function awsParts(settings: Settings, texts: EnvironmentTexts): readonly Part[] {
  const profile = settings.get("aws_profile_name");
  const name = textOf(profile);
  if (profile !== undefined && name !== null && texts.variableOf(profile) === null)
    return [{ key: "aws.profile", value: name, node: profile, how: null }];
  const keys = ["access_key_id", "secret_access_key", "session_token"].flatMap((part) => {
    const node = settings.get(`aws_${part}`);
    return partOf(`aws.${part}`, node, texts.secret(node, `aws_${part}`, "unset"));
  });
  return keys.some(({ key }) => key === "aws.access_key_id") && keys.some(({ key }) => key === "aws.secret_access_key")
    ? keys
    : [{ key: "aws", value: "default", node: null, how: null }];
}

/**
 * A credentials file, by its absolute path or written out. What stands in a variable can be either, which only the
 * environment knows: Google's own chain reads such a file. https://docs.litellm.ai/docs/providers/vertex
 */
function googleParts(settings: Settings, texts: EnvironmentTexts): readonly Part[] {
  const node = settings.get("vertex_credentials") ?? settings.get("vertex_ai_credentials");
  const text = textOf(node);
  if (node !== undefined && text !== null && /^(\/|[A-Za-z]:[\\/])/.test(text))
    return [{ key: "google.credentials_file", value: text, node, how: null }];
  const file = texts.credentialsFile(node, "vertex_credentials");
  if (file !== null) return partOf("google.credentials_file", node, file);
  return [
    {
      key: "google",
      value: "default",
      node: node ?? null,
      how: "Google's own chain finds the credential: set GOOGLE_APPLICATION_CREDENTIALS to the path of the file",
    },
  ];
}

const ENTRA = ["tenant_id", "client_id", "client_secret"] as const;

function entraParts(settings: Settings, texts: EnvironmentTexts): readonly Part[] {
  return ENTRA.flatMap((key): readonly Part[] => {
    const node = settings.get(key);
    const found = key === "client_secret" ? texts.secret(node, "entra_client_secret", "unset") : texts.word(node);
    return partOf(`entra.${key}`, node, found);
  });
}

/** Further names that LiteLLM has for a field. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  vertex_project: "vertex_ai_project",
  vertex_location: "vertex_ai_location",
};

/** Our settings of providers know the names of LiteLLM's fields, because requests may have them. */
function ownSettings(family: ProviderFamily, settings: Settings, texts: EnvironmentTexts): readonly Part[] {
  return family.settings.flatMap(({ name, field }): readonly Part[] => {
    const node = field === undefined ? undefined : (settings.get(field) ?? settings.get(OTHER_NAMES[field] ?? ""));
    return partOf(name, node, texts.word(node));
  });
}
