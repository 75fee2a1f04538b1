// Providers of Bifrost with their keys: each group of keys that serve the same models is an account, and keys with an
// address or a cloud of their own are one each. https://docs.getbifrost.ai/providers/provider-configuration
import type { ProviderFamily } from "../../providers/settings.ts";
import { placeholderUrl } from "../address.ts";
import { nameOf } from "../draft.ts";
import { isOn, numberOf, textOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { joined, type Reference, type Value, variable } from "../reference.ts";
import { addressOf, secretOf, wordOfSetting } from "./environment.ts";
import { BIFROST_NAMES } from "./provider-names.ts";

/** Where Bifrost looks for OpenAI's operations below an address. */
const VERSION_PATH = "/v1";
const CHAT_PATH = "/chat/completions";
const MOST_WEIGHT = 1000;

interface KeyGroup {
  readonly keys: readonly ForeignNode[];
  /** Empty for all models. */
  readonly models: readonly string[];
  readonly id: string;
}

export function importProviders(providers: ForeignNode | undefined, context: ImportContext): void {
  for (const [name, node] of providers?.members ?? []) importProvider(name, node, context);
}

function importProvider(name: string, node: ForeignNode, context: ImportContext): void {
  const { claims, choices, families } = context;
  const custom = node.members.get("custom_provider_config");
  const base = custom?.members.get("base_provider_type");
  const wanted = choices.providers.get(name) ?? BIFROST_NAMES[textOf(base) ?? name];
  const address = node.members.get("network_config")?.members.get("base_url");
  const isOwn = wanted === "openai" && (custom !== undefined || address !== undefined);
  const family = families.get(isOwn ? "custom" : (wanted ?? ""));
  if (family === undefined)
    return claims.without(node, "Dragoman has no such provider; --provider <name>=<provider> names the one that it is");
  claims.taken(base, `providers.${name}`);
  claims.without(
    custom?.members.get("allowed_requests"),
    "a token can be confined to models and routes, not to operations",
  );
  const groups = groupsOf(node.members.get("keys")?.items ?? []).map((keys) =>
    keyGroup(name, family, keys, node, context),
  );
  if (groups.length === 0) keyGroup(name, family, [], node, context);
  importAliases(groups, context);
  if (groups.length > 1) importSharedModels(name, groups, context);
}

const ENDED = /_key_config$/;

/** Keys with a configuration of their own stand alone; the others are grouped by the models that they serve. */
function groupsOf(keys: readonly ForeignNode[]): readonly (readonly ForeignNode[])[] {
  const groups = Map.groupBy(keys, (key) =>
    [...key.members.keys()].some((member) => ENDED.test(member)) ? key : JSON.stringify(modelsOf(key)),
  );
  return [...groups.values()];
}

function modelsOf(key: ForeignNode): readonly string[] {
  const models = (key.members.get("models")?.items ?? []).flatMap((item) => textOf(item) ?? []);
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
  const own =
    [...(first?.members ?? [])].find(([member]) => ENDED.test(member))?.[1] ?? provider.members.get("meta_config");
  const at = `providers.${name}`;
  const entry: Record<string, Value> = {
    ...addressEntry(family, provider, own, at, context),
    ...credentialEntry(name, family, keys, own, context),
    ...settingsEntry(family, own, at, context),
  };
  const id = draft.account({ family: family.id, wantedId: name, entry });
  const models = first === undefined ? [] : modelsOf(first);
  for (const model of models) draft.model(id, model, {});
  for (const key of keys) {
    claims.taken(key.members.get("models"), `models of providers.${id}`);
    for (const label of ["name", "id"]) claims.without(key.members.get(label), "keys have no names here");
    const enabled = key.members.get("enabled");
    if (isOn(enabled)) claims.taken(enabled, `providers.${id}`);
  }
  return { keys, models, id };
}

function addressEntry(
  family: ProviderFamily,
  provider: ForeignNode,
  own: ForeignNode | undefined,
  at: string,
  context: ImportContext,
): Record<string, Value> {
  const network = provider.members.get("network_config")?.members;
  const node = own?.members.get("endpoint") ?? own?.members.get("url") ?? network?.get("base_url");
  context.claims.taken(
    network?.get("allow_private_network"),
    "addresses in the file, which may be in private networks",
  );
  if (node === undefined) return family.baseUrl === null ? { base_url: placeholderUrl(`address-of-${at}`) } : {};
  const address = addressOf(node, `${at}.base_url`, context);
  return { base_url: family.id === "custom" ? withPath(address, provider, context) : address };
}

/** Bifrost adds the version to the address, unless the paths are overridden. */
function withPath(address: Reference | string, provider: ForeignNode, { claims }: ImportContext): Value {
  const overrides = provider.members.get("custom_provider_config")?.members.get("request_path_overrides");
  const path = textOf(overrides?.members.get("chat_completion"));
  const prefix = path?.endsWith(CHAT_PATH) === true ? path.slice(0, -CHAT_PATH.length) : VERSION_PATH;
  claims.changed(overrides, "base_url", "the beginning of the path is part of the address");
  if (typeof address !== "string") return joined(address, prefix);
  const plain = address.replace(/\/+$/, "");
  return plain.endsWith(prefix) ? plain : `${plain}${prefix}`;
}

function credentialEntry(
  name: string,
  family: ProviderFamily,
  keys: readonly ForeignNode[],
  own: ForeignNode | undefined,
  context: ImportContext,
): Record<string, Value> {
  const [first] = keys;
  const at = `providers.${name}`;
  if (family.credentials.includes("aws")) {
    const access = own?.members.get("access_key");
    const other = own?.members.get("secret_key") ?? own?.members.get("secret_access_key");
    const pair = { name: `${name}_access_key`, to: `${at}.aws`, fallback: "unset" };
    const id = secretOf(access, pair, context);
    const secret = secretOf(other, { ...pair, name: `${name}_secret_key` }, context);
    const session = secretOf(own?.members.get("session_token"), { ...pair, name: `${name}_session_token` }, context);
    if (id !== null && secret !== null)
      return {
        aws: { access_key_id: id, secret_access_key: secret, ...(session !== null && { session_token: session }) },
      };
  }
  const values = keys.flatMap((key): readonly { readonly key: Reference; readonly weight: number }[] => {
    const label = textOf(key.members.get("name")) ?? "api_key";
    const secret = secretOf(
      key.members.get("value"),
      { name: `${name}_${label}`, to: `${at}.api_keys`, fallback: keys.length > 1 ? "unset" : "" },
      context,
    );
    return secret === null ? [] : [{ key: secret, weight: numberOf(key.members.get("weight")) ?? 1 }];
  });
  if (values.length > 1 && family.credentials.includes("key")) {
    for (const key of keys)
      context.claims.changed(key.members.get("weight"), `${at}.api_keys`, "weights are whole numbers here");
    return { api_keys: wholeWeights(values) };
  }
  context.claims.taken(first?.members.get("weight"), at);
  if (values.length > 0 && family.credentials.includes("key")) return { api_key: values[0]!.key };
  if (family.credentials.includes("google")) {
    context.claims.changed(
      own?.members.get("auth_credentials"),
      `${at}.google`,
      "Google's own chain finds the credential: set GOOGLE_APPLICATION_CREDENTIALS to the path of the file",
    );
    return { google: "default" };
  }
  if (family.credentials.includes("aws")) return { aws: "default" };
  const [variableName] = family.keyVariables;
  return variableName === undefined ? {} : { api_key: variable(variableName) };
}

function wholeWeights(values: readonly { readonly key: Reference; readonly weight: number }[]): readonly Value[] {
  const used = values.filter(({ weight }) => weight > 0);
  const least = Math.min(...used.map(({ weight }) => weight));
  return used.map(({ key, weight }) => ({
    key,
    weight: Math.min(MOST_WEIGHT, Math.max(1, Math.round(weight / least))),
  }));
}

const SETTINGS: Readonly<Record<string, string>> = {
  api_version: "api_version",
  region: "region",
  project_id: "project",
};

function settingsEntry(
  family: ProviderFamily,
  own: ForeignNode | undefined,
  at: string,
  context: ImportContext,
): Record<string, Value> {
  const known = new Set(family.settings.map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(SETTINGS).flatMap(([theirs, ours]): readonly (readonly [string, Value])[] => {
      const name = theirs === "region" && !known.has("region") ? "location" : ours;
      if (!known.has(name)) return [];
      const value = wordOfSetting(own?.members.get(theirs), `${at}.${name}`, context);
      return value === null ? [] : [[name, value]];
    }),
  );
}

/** Names that stand for other names of models are routes. */
function importAliases(groups: readonly KeyGroup[], { claims, draft }: ImportContext): void {
  for (const { keys, id } of groups)
    for (const key of keys) {
      const config = [...key.members].find(([member]) => ENDED.test(member))?.[1];
      for (const list of [
        key.members.get("aliases"),
        config?.members.get("deployments"),
        config?.members.get("aliases"),
      ])
        for (const [alias, node] of list?.members ?? []) {
          const model = textOf(node);
          if (model === null) continue;
          if (model === alias) {
            claims.taken(node, `${id}:${model}`);
            continue;
          }
          const route = draft.freeName("routes", nameOf(alias));
          draft.set("routes", [route], { targets: [`${id}:${model}`] });
          claims.changed(node, `routes.${route}`, `clients ask for the route ${route}, without the provider`);
        }
    }
}

/** Models that several accounts of one provider serve: a route divides the calls, as Bifrost does among the keys. */
function importSharedModels(name: string, groups: readonly KeyGroup[], { claims, draft }: ImportContext): void {
  const models = [...new Set(groups.flatMap((group) => group.models))];
  for (const model of models) {
    const serving = groups.filter((group) => group.models.length === 0 || group.models.includes(model));
    const [only] = serving;
    if (serving.length === 1 && only!.id === name) continue;
    const route = draft.freeName("routes", nameOf(`${name}-${model}`));
    draft.set("routes", [route], { strategy: "weighted", targets: serving.map(({ id }) => `${id}:${model}`) });
    for (const { keys } of serving)
      for (const key of keys)
        claims.changed(
          key.members.get("weight"),
          `routes.${route}`,
          "the keys have accounts of their own, among which routes divide the calls",
        );
  }
}
