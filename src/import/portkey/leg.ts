// One target of a Portkey config: the account at a provider that it calls, its model, and its parameters. A key that
// Portkey keeps itself is taken from a variable of the environment.
// https://portkey.ai/docs/api-reference/inference-api/config-object
import { isPlainAddress } from "../../providers/credentials/credential-settings.ts";
import { MODEL_ID, type ProviderFamily } from "../../providers/settings.ts";
import { isOpenAiAddress, placeholderUrl } from "../address.ts";
import { idOf } from "../draft.ts";
import { placed } from "../environment-texts.ts";
import { textOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { type Value, variable } from "../reference.ts";
import type { PlaceOf } from "../report.ts";
import { looksLikeKey, shownKey } from "../secret-shape.ts";
import { addParameter, isDroppable } from "../target-entry.ts";
import { whyUnserved } from "../unserved-models.ts";
import { addressAtPortkey, familyInSlug, familyOfName } from "./provider-names.ts";

export interface Leg {
  readonly node: ForeignNode;
  readonly providerId: string;
  /** `null` where the request says it. */
  readonly model: string | null;
  readonly params: Readonly<Record<string, Value>>;
  readonly drop: readonly string[];
  /** Where it was written: filled when the routes are. */
  readonly places: WrittenLeg[];
}

export interface WrittenLeg {
  readonly route: string;
  readonly target: string;
}

/** The places of a leg, or of a setting of it. */
export function placesOf({ places }: Pick<Leg, "places">, setting?: string): () => readonly string[] {
  const of = setting === undefined ? "" : `${setting} of `;
  return () => places.map(({ route, target }) => `${of}${target} in routes.${route}`);
}

/** Members of a target, those of the configs around it included: the nearest counts. */
export type Members = ReadonlyMap<string, ForeignNode>;

/** `@slug/model`, in `provider` or in the model. */
const SLUG = /^@([^/]+)(?:\/(.+))?$/;

/** Settings of a target that are settings of our provider's entry. */
const SETTINGS: Readonly<Record<string, string>> = {
  resource_name: "resource",
  azure_resource_name: "resource",
  api_version: "api_version",
  azure_api_version: "api_version",
  aws_region: "region",
  vertex_project_id: "project",
  vertex_region: "location",
};

/** `null` for a target without a provider, about which the report then says why. */
export function readLeg(node: ForeignNode, members: Members, context: ImportContext): Leg | null {
  const { claims, families } = context;
  const override = members.get("override_params")?.members.get("model");
  const named = SLUG.exec(textOf(override) ?? "");
  const provider = members.get("provider");
  const behind = SLUG.exec(textOf(provider) ?? "");
  const virtual = members.get("virtual_key");
  const slug = named?.[1] ?? behind?.[1] ?? textOf(virtual);
  const name = slug === null && behind === null ? textOf(provider) : null;
  const familyId =
    slug === null ? familyOfName(name ?? "") : (context.choices.providers.get(slug) ?? familyInSlug(slug));
  const family = families.get(familyId ?? "");
  if (family === undefined) {
    claims.missing(node, whyWithout(slug, name));
    return null;
  }
  const deployment = members.get("deployment_id") ?? members.get("azure_deployment_id");
  const asked = named?.[2] ?? (named === null ? textOf(override) : null) ?? behind?.[2] ?? null;
  // Portkey calls the deployment, whatever the model
  const deployed = family.id === "azure" || asked === null ? textOf(deployment) : null;
  const model = deployed ?? asked;
  const problem = model === null ? null : problemOf(model);
  const places: WrittenLeg[] = [];
  claims.target(node, placesOf({ places }), model === null ? NO_MODEL : undefined);
  if (problem !== null) {
    claims.without(node, problem);
    return null;
  }
  const providerId = account(family, slug, members, context);
  const isGuess = slug !== null && !context.choices.providers.has(slug);
  const how = [
    ...(isGuess ? [guessWords(slug, family)] : []),
    ...(model === null && context.choices.models.length === 0 ? [NO_MODEL] : []),
  ].join("; ");
  for (const each of [provider, virtual]) claims.moved(each, `providers.${providerId}`, how === "" ? null : how);
  if (model === null) claims.without(override, NO_MODEL);
  else {
    const to = placesOf({ places });
    const isDeployed = deployed !== null && asked !== null && deployed !== asked;
    const words = [...(named === null || how === "" ? [] : [how]), ...(isDeployed ? [DEPLOYED] : [])].join("; ");
    claims.moved(override, to, words === "" ? null : words);
    if (deployed !== null) claims.taken(deployment, to);
  }
  return { node, providerId, model, places, ...readParameters(members, placesOf.bind(null, { places }), context) };
}

function problemOf(model: string): string | null {
  return MODEL_ID.test(model) && !looksLikeKey(model) ? whyUnserved(model) : "this cannot be the name of a model here";
}

const NO_MODEL =
  "it leaves the model to the caller, and a target here has one, so that there is no route to it; name the models with --model and import again";

const DEPLOYED = "Azure is called with the name of the deployment, which stands beside the model";

function whyWithout(slug: string | null, name: string | null): string {
  if (slug !== null)
    return "the config does not say which provider stands behind this slug; name it with --provider <slug>=<provider> and import again";
  return name === null
    ? "it names no provider: the request did, or the config around it"
    : "Dragoman has no such provider; with custom_host, name it with --provider";
}

function guessWords(slug: string, { label }: ProviderFamily): string {
  return `${label} is what the slug ${shownKey(slug)} most likely means; --provider <slug>=<provider> says it otherwise. Portkey keeps its key, so the key is taken from a variable`;
}

/** Returns the id of the account's entry. */
function account(given: ProviderFamily, slug: string | null, members: Members, context: ImportContext): string {
  const { claims, draft, texts, families } = context;
  const host = members.get("custom_host");
  const address = textOf(host);
  const family =
    address !== null && given.id === "openai" && !isOpenAiAddress(address) ? families.get("custom")! : given;
  const wantedId = slug !== null ? idOf(slug) : family === given ? given.id : `${given.id}-at-custom-host`;
  const entry: Record<string, Value> = {};
  // another account may have the wanted id
  const at: PlaceOf = (name) => () => [`providers.${id}.${name}`];
  if (address !== null) {
    const isUsable = isPlainAddress(address);
    entry["base_url"] = isUsable ? address : placeholderUrl("custom-host");
    const how = isUsable ? null : "expected an http or https address without user name, password and query";
    claims.moved(host, at("base_url"), how);
  } else {
    const theirs = family.baseUrl === null ? placeholderUrl(`address-of-${wantedId}`) : addressAtPortkey(family.id);
    if (theirs !== null) entry["base_url"] = theirs;
  }
  for (const [theirs, ours] of Object.entries(SETTINGS)) {
    if (!family.settings.some(({ name }) => name === ours)) continue;
    const node = members.get(theirs);
    const value = placed(texts.word(node), node, at(ours), claims);
    if (value !== null) entry[ours] = value;
  }
  const key = members.get("api_key");
  const secret = placed(texts.secret(key, `${wantedId}_api_key`), key, at("api_key"), claims);
  if (secret !== null) entry["api_key"] = secret;
  else if (family.credentials.includes("aws")) entry["aws"] = awsOf(members, wantedId, at, context);
  else if (family.credentials.includes("google")) entry["google"] = "default";
  else if (family.credentials.includes("key"))
    entry["api_key"] = variable(
      `${wantedId.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}_API_KEY`.replace(/^(\d)/, "_$1"),
    );
  const id = draft.account({ family: family.id, wantedId, entry });
  return id;
}

function awsOf(members: Members, id: string, at: PlaceOf, { claims, texts }: ImportContext): Value {
  const pairs = ["access_key_id", "secret_access_key", "session_token"].flatMap((name) => {
    const node = members.get(`aws_${name}`);
    const secret = placed(texts.secret(node, `${id}_aws_${name}`), node, at(`aws.${name}`), claims);
    return secret === null ? [] : [[name, secret] as const];
  });
  return pairs.length >= 2 ? Object.fromEntries(pairs) : "default";
}

function readParameters(members: Members, at: PlaceOf, { claims }: ImportContext): Pick<Leg, "params" | "drop"> {
  const params: Record<string, Value> = {};
  const take = (parameter: readonly [string, ForeignNode], how: string | null): void =>
    addParameter(params, parameter, { at: at(`params.${parameter[0]}`), how, claims });
  for (const parameter of members.get("override_params")?.members ?? [])
    if (parameter[0] !== "model") take(parameter, "a parameter that the request sets itself takes precedence");
  for (const parameter of members.get("default_params")?.members ?? []) take(parameter, null);
  const drop = (members.get("drop_params")?.items ?? []).flatMap((item): readonly string[] => {
    const name = textOf(item) ?? "";
    if (!isDroppable(name, params)) {
      claims.without(item, "only whole common parameters can be left out");
      return [];
    }
    claims.taken(item, at("drop"));
    return [name];
  });
  return { params, drop };
}
