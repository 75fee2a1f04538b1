// Providers of Bifrost with their keys: each group of keys that serve the same models is an account, and keys with an
// address or a cloud of their own are one each. https://docs.getbifrost.ai/providers/provider-configuration
import type { ProviderFamily } from "../../providers/settings.ts";
import { isAddressOf, placeholderUrl } from "../address.ts";
import { always, type PlaceOf } from "../report.ts";
import { type FoundText, placed } from "../environment-texts.ts";
import { isOff, numberOf, textOf, textsOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { joined, type Value, variable } from "../reference.ts";
import { whyUnserved } from "../unserved-models.ts";
import {
  type AskedRoute,
  importAliases,
  importSharedModels,
  type KeyGroup,
  ownConfigOf,
  renamedWords,
  wholeWeights,
} from "./key-routes.ts";
import { BIFROST_NAMES, speakerOf } from "./provider-names.ts";

/** Where Bifrost looks for OpenAI's operations below an address. */
const VERSION_PATH = "/v1";
const CHAT_PATH = "/chat/completions";

/** What was made of the providers, by their names there. */
export interface Fleet {
  readonly providers: ReadonlyMap<string, readonly KeyGroup[]>;
  /** What clients ask for, `<provider>/<model>`, of which a route was made. */
  readonly routes: ReadonlyMap<string, AskedRoute>;
}

export function importProviders(providers: ForeignNode | undefined, context: ImportContext): Fleet {
  const routes = new Map<string, AskedRoute>();
  return {
    routes,
    providers: new Map(
      Array.from(providers?.members ?? [], ([name, node]) => [name, importProvider(name, node, routes, context)]),
    ),
  };
}

function importProvider(
  name: string,
  node: ForeignNode,
  routes: Map<string, AskedRoute>,
  context: ImportContext,
): readonly KeyGroup[] {
  const { claims, choices, families } = context;
  const custom = node.members.get("custom_provider_config");
  const base = custom?.members.get("base_provider_type");
  const wanted = choices.providers.get(name) ?? BIFROST_NAMES[textOf(base) ?? name];
  const address = node.members.get("network_config")?.members.get("base_url");
  const family = families.get(wanted === "openai" ? speakerOf(name, textOf(address), families) : (wanted ?? ""));
  if (family === undefined) {
    claims.missing(node, "Dragoman has no such provider; --provider <name>=<provider> names the one that it is");
    return [];
  }
  claims.taken(base, `providers.${name}`);
  claims.without(
    custom?.members.get("allowed_requests"),
    "a policy can deny operations of a provider, by request.operation: docs/policies.md",
  );
  const keys = (node.members.get("keys")?.items ?? []).filter((key, _, all) => !isUnused(key, all, context));
  const groups = groupsOf(keys).map((members) => keyGroup(name, family, members, node, context));
  if (groups.length === 0) {
    const group = keyGroup(name, family, [], node, context);
    const places = importSharedModels(name, [group], [], routes, context).get(group)!;
    claims.target(node, () => (group.id === name ? [`providers.${group.id}`] : places), renamedWords(name, group.id));
    return [group];
  }
  importSharedModels(name, groups, importAliases(name, groups, routes, context), routes, context);
  return groups;
}

/** A key without weight gets no call where another one has a weight. */
function isUnused(key: ForeignNode, all: readonly ForeignNode[], { claims }: ImportContext): boolean {
  const hasWeight = (each: ForeignNode): boolean => (numberOf(each.members.get("weight")) ?? 1) > 0;
  if (!isOff(key.members.get("enabled")) && (hasWeight(key) || !all.some(hasWeight))) return false;
  claims.without(key, "no call uses this key, which is off or without weight");
  return true;
}

/** Keys with a configuration of their own stand alone; the others are grouped by the models that they serve. */
function groupsOf(keys: readonly ForeignNode[]): readonly (readonly ForeignNode[])[] {
  const groups = Map.groupBy(keys, (key) => (ownConfigOf(key) === undefined ? JSON.stringify(modelsOf(key)) : key));
  return [...groups.values()];
}

function modelsOf(key: ForeignNode): readonly string[] {
  const models = textsOf(key.members.get("models"));
  return models.includes("*") ? [] : models;
}

function keyGroup(
  name: string,
  family: ProviderFamily,
  keys: readonly ForeignNode[],
  provider: ForeignNode,
  context: ImportContext,
): KeyGroup {
  const { claims, draft } = context;
  const [first] = keys;
  const own = ownConfigOf(first) ?? provider.members.get("meta_config");
  const at: PlaceOf = (key) => () => [`providers.${id}.${key}`];
  const entry: Record<string, Value> = {
    ...addressEntry(name, family, provider, own, at, context),
    ...credentialEntry(name, family, keys, own, at, context),
    ...settingsEntry(family, own, at, context),
  };
  const id = draft.account({ family: family.id, wantedId: name, entry });
  const models = first === undefined ? [] : modelsOf(first);
  for (const model of models) if (whyUnserved(model) === null) draft.model(id, model, {});
  for (const key of keys) {
    for (const item of key.members.get("models")?.items ?? []) {
      const why = whyUnserved(textOf(item) ?? "");
      if (why !== null) claims.missing(item, why);
    }
    claims.taken(key.members.get("models"), models.length > 0 ? `providers.${id}.models` : `providers.${id}`);
    for (const label of ["name", "id"]) claims.without(key.members.get(label), "keys have no names here");
    claims.without(
      key.members.get("use_for_batch_api"),
      "Dragoman does not serve batches: README.md lists its operations",
    );
    claims.without(
      key.members.get("bedrock_key_config")?.members.get("arn"),
      "a model is called by its id or by the ARN of its inference profile, which clients or a route name",
    );
    claims.taken(key.members.get("enabled"), `providers.${id}`);
  }
  return { keys, models, id };
}

function addressEntry(
  name: string,
  family: ProviderFamily,
  provider: ForeignNode,
  own: ForeignNode | undefined,
  at: PlaceOf,
  context: ImportContext,
): Record<string, Value> {
  const network = provider.members.get("network_config")?.members;
  const node = own?.members.get("endpoint") ?? own?.members.get("url") ?? network?.get("base_url");
  context.claims.taken(
    network?.get("allow_private_network"),
    always("addresses in the file, which may be in private networks"),
  );
  if (node === undefined)
    return family.baseUrl === null ? { base_url: placeholderUrl(`address-of-providers-${name}`) } : {};
  if (family.id !== "openai" && isAddressOf(family, textOf(node) ?? "")) {
    context.claims.taken(node, always(`the address of ${family.label}`));
    return {};
  }
  const address = placed(context.texts.address(node), node, at("base_url"), context.claims)!;
  const isVersioned = family.id === "custom" || family.id === "openai";
  return { base_url: isVersioned ? withPath(address, provider, at, context) : address };
}

/** Bifrost adds the version to the address, unless the paths are overridden. */
function withPath(address: FoundText["value"], provider: ForeignNode, at: PlaceOf, { claims }: ImportContext): Value {
  const overrides = provider.members.get("custom_provider_config")?.members.get("request_path_overrides");
  const path = textOf(overrides?.members.get("chat_completion"));
  const prefix = path?.endsWith(CHAT_PATH) === true ? path.slice(0, -CHAT_PATH.length) : VERSION_PATH;
  claims.changed(overrides, at("base_url"), "the beginning of the path is part of the address");
  if (typeof address !== "string") return joined(address, prefix);
  const plain = address.replace(/\/+$/, "");
  return plain.endsWith(prefix) ? plain : `${plain}${prefix}`;
}

/** Where all are there, they take precedence over a key: https://github.com/maximhq/bifrost/blob/main/core/providers/azure/azure.go */
const ENTRA = ["tenant_id", "client_id", "client_secret"] as const;

function credentialEntry(
  name: string,
  family: ProviderFamily,
  keys: readonly ForeignNode[],
  own: ForeignNode | undefined,
  at: PlaceOf,
  { claims, texts }: ImportContext,
): Record<string, Value> {
  if (family.credentials.includes("aws")) {
    const ofPair = (node: ForeignNode | undefined, what: string): Value | null =>
      placed(texts.secret(node, `${name}_${what}`, "unset"), node, at("aws"), claims);
    const id = ofPair(own?.members.get("access_key"), "access_key");
    const secret = ofPair(own?.members.get("secret_key") ?? own?.members.get("secret_access_key"), "secret_key");
    const session = ofPair(own?.members.get("session_token"), "session_token");
    if (id !== null && secret !== null)
      return {
        aws: { access_key_id: id, secret_access_key: secret, ...(session !== null && { session_token: session }) },
      };
  }
  if (family.credentials.includes("entra") && ENTRA.every((what) => own?.members.has(what) === true)) {
    const entra = ENTRA.flatMap((what): readonly (readonly [string, Value])[] => {
      const node = own?.members.get(what);
      const found = what === "client_secret" ? texts.secret(node, `${name}_${what}`, "unset") : texts.word(node);
      const value = placed(found, node, at("entra"), claims);
      return value === null ? [] : [[what, value]];
    });
    if (entra.length === ENTRA.length) return { entra: Object.fromEntries(entra) };
  }
  const isShared = keys.length > 1;
  const values = keys.flatMap((key): readonly { readonly key: Value; readonly weight: number }[] => {
    const node = key.members.get("value");
    const found = texts.secret(
      node,
      `${name}_${textOf(key.members.get("name")) ?? "api_key"}`,
      isShared ? "unset" : "",
    );
    const secret = placed(found, node, at(isShared ? "api_keys" : "api_key"), claims);
    return secret === null ? [] : [{ key: secret, weight: numberOf(key.members.get("weight")) ?? 1 }];
  });
  if (isShared && values.length > 0 && family.credentials.includes("key")) {
    for (const key of keys) claims.changed(key.members.get("weight"), at("api_keys"), "weights are whole numbers here");
    return { api_keys: wholeWeights(values) };
  }
  if (values.length > 0 && family.credentials.includes("key")) return { api_key: values[0]!.key };
  if (family.credentials.includes("google")) {
    const node = own?.members.get("auth_credentials");
    const file = texts.credentialsFile(node, `${name}_auth_credentials`);
    const path = placed(file, node, at("google"), claims);
    if (path !== null) return { google: { credentials_file: path } };
    claims.changed(
      node,
      at("google"),
      "Google's own chain finds the credential: set GOOGLE_APPLICATION_CREDENTIALS to the path of the file",
    );
    return { google: "default" };
  }
  if (family.credentials.includes("aws")) return { aws: "default" };
  const [variableName] = family.keyVariables;
  return variableName === undefined ? {} : { api_key: variable(variableName) };
}

const SETTINGS: Readonly<Record<string, string>> = {
  api_version: "api_version",
  region: "region",
  project_id: "project",
};

function settingsEntry(
  family: ProviderFamily,
  own: ForeignNode | undefined,
  at: PlaceOf,
  { claims, texts }: ImportContext,
): Record<string, Value> {
  const known = new Set(family.settings.map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(SETTINGS).flatMap(([theirs, ours]): readonly (readonly [string, Value])[] => {
      const name = theirs === "region" && !known.has("region") ? "location" : ours;
      if (!known.has(name)) return [];
      const node = own?.members.get(theirs);
      const value = placed(texts.word(node), node, at(name), claims);
      return value === null ? [] : [[name, value]];
    }),
  );
}
