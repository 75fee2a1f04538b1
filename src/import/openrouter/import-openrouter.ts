// Takes over presets of OpenRouter, as its API returns them, or the routing of one of its requests: a route for each,
// whose targets go on being called through OpenRouter with the same preferences.
// https://openrouter.ai/docs/guides/features/presets, https://openrouter.ai/docs/guides/routing/provider-selection
import { MODEL_ID } from "../../providers/settings.ts";
import { claimAsked, type PlaceOf } from "../report.ts";
import { itemsOf, textOf } from "../figures.ts";
import { type ForeignNode, refusalAt } from "../foreign-file.ts";
import type { GatewayImport, ImportContext } from "../gateway-import.ts";
import { type Mapping, type Value, variable } from "../reference.ts";
import { looksLikeKey } from "../secret-shape.ts";
import { targetEntry, addParameter } from "../target-entry.ts";

const FAMILY = "openrouter";
const MOST_TARGETS = 100;
/** What a preset says of itself, and what belongs to a single call. */
const WITHOUT: Readonly<Record<string, string>> = {
  system_prompt: "a route has no system prompt; clients send it as the first message",
  messages: "it belongs to a single call",
  input: "it belongs to a single call",
  prompt: "it belongs to a single call",
  stream: "it belongs to a single call",
  preset: "it names a preset, which is imported from what the API of presets returns",
  route: "a route here tries its targets in order in any case",
};
const ABOUT_THE_PRESET = [
  "id",
  "name",
  "description",
  "status",
  "creator_user_id",
  "workspace_id",
  "created_at",
  "updated_at",
  "status_updated_at",
  "designated_version_id",
];

export const openrouter: GatewayImport = {
  yaml: "1.2",
  run: (context) => {
    const usable = presetsOf(context.foreign.root).filter(
      ({ config }) => config.members.has("model") || config.members.has("models") || config.members.has("provider"),
    );
    if (usable.length === 0)
      throw refusalAt(
        context.foreign.file,
        context.foreign.root,
        "expected a preset of OpenRouter as its API returns it, or a request with model, models or provider",
      );
    for (const preset of usable) importPreset(preset, context);
  },
};

interface Preset {
  /** What surrounds the settings; the settings themselves where the file is a request. */
  readonly node: ForeignNode;
  readonly config: ForeignNode;
  readonly slug: ForeignNode | undefined;
  readonly systemPrompt: ForeignNode | undefined;
}

function presetsOf(root: ForeignNode): readonly Preset[] {
  const data = root.kind === "mapping" ? (root.members.get("data") ?? root) : root;
  return itemsOf(data)
    .filter(({ kind }) => kind === "mapping")
    .map((node) => {
      const version = node.members.get("designated_version") ?? node;
      return {
        node,
        config: version.members.get("config") ?? version,
        slug: node.members.get("slug"),
        systemPrompt: version.members.get("system_prompt"),
      };
    });
}

function importPreset({ node, config, slug, systemPrompt }: Preset, context: ImportContext): void {
  const { claims, choices, draft } = context;
  const providerId = draft.account({
    family: FAMILY,
    wantedId: FAMILY,
    entry: { api_key: variable("OPENROUTER_API_KEY") },
  });
  const wanted = textOf(slug) ?? choices.name;
  const asked = textOf(slug) === null ? wanted : `@preset/${wanted}`;
  const name = draft.routeFor(asked, wanted);
  const at = `routes.${name}`;
  claimAsked(slug, asked, name, claims);
  claims.without(systemPrompt, WITHOUT["system_prompt"]!);
  const models = modelsOf(config);
  const taken: string[] = [];
  const params = parametersOf(
    config,
    (key) => () => taken.map((target) => `params.${key} of ${target} in ${at}`),
    context,
  );
  for (const model of models.slice(0, MOST_TARGETS)) {
    const text = textOf(model) ?? "";
    const target = `${providerId}:${text}`;
    claims.target(model, `${target} in ${at}`);
    if (!MODEL_ID.test(text) || looksLikeKey(text) || taken.includes(target)) {
      claims.without(model, "this cannot be the name of a model here, or stands in the list twice");
      continue;
    }
    taken.push(target);
    claims.taken(model, `${target} in ${at}`);
  }
  for (const model of models.slice(MOST_TARGETS)) claims.missing(model, `a route has at most ${MOST_TARGETS} targets`);
  if (taken.length > 0)
    draft.set("routes", [name], { targets: taken.map((target) => targetEntry(target, { params })) });
  else
    claims.without(config, "it names no model, so there is no route; requests can carry these preferences themselves");
  for (const key of ABOUT_THE_PRESET) claims.without(node.members.get(key), "it is about the preset, not about calls");
  for (const key of ["id", "preset_id", "creator_id", "version", "created_at", "updated_at"])
    claims.without(node.members.get("designated_version")?.members.get(key), "it is about the preset, not about calls");
}

/** The first choice, and what follows when it fails. */
function modelsOf(config: ForeignNode): readonly ForeignNode[] {
  const model = config.members.get("model");
  return [...(model === undefined ? [] : [model]), ...(config.members.get("models")?.items ?? [])];
}

/** Preferences among its providers and parameters of the model go on being sent to OpenRouter. */
function parametersOf(config: ForeignNode, at: PlaceOf, { claims }: ImportContext): Mapping {
  const params: Record<string, Value> = {};
  for (const [name, node] of config.members) {
    if (["model", "models", "designated_version", "slug", "config", ...ABOUT_THE_PRESET].includes(name)) continue;
    const why = WITHOUT[name];
    if (why === undefined) addParameter(params, [name, node], { at: at(name), how: null, claims });
    else claims.without(node, why);
  }
  return params;
}
