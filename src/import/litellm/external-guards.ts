// Guardrails of LiteLLM that ask a service which guards here can ask too, at the same address and with the same key.
// https://docs.litellm.ai/docs/proxy/guardrails/quick_start
import { placeholderUrl } from "../address.ts";
import { placed } from "../environment-texts.ts";
import { isOff, isOn, numberOf, textOf, textsOf, wholeOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { joined, type Mapping, type Reference, type Value } from "../reference.ts";
import type { WrittenPlace } from "../report.ts";
import { deploymentAccount, type Settings } from "./deployment-account.ts";

interface GuardService {
  /** The service of the guard. */
  readonly service: Mapping;
  readonly action: "mask" | "block";
  /** What is found is only reported. */
  readonly onlyReports: boolean;
  /** What happens to a text about which there is no verdict. */
  readonly onError: "block" | "allow";
}

/** A guardrail, and what is needed to take it over. */
export interface Asked {
  readonly params: Settings;
  readonly at: WrittenPlace;
  readonly context: ImportContext;
}

/** Why there is no service of it. */
type Problem = string;

const LAKERA_URL = "https://api.lakera.ai";
/** LiteLLM's own default, which is lower than that of our guards. */
const LEAST_SEVERITY = 2;
const MODERATION_MODEL = "omni-moderation-latest";

const SERVICES: Readonly<Record<string, (asked: Asked) => Mapping | Problem>> = {
  lakera: lakeraService,
  lakera_v2: lakeraService,
  "azure/text_moderations": contentSafety,
  openai_moderation: moderation,
  bedrock: bedrockGuardrails,
  model_armor: modelArmor,
};

/** `null` for a kind of guardrail that is no such service; a text for one that lacks something. */
export function guardService(kind: string, asked: Asked): GuardService | Problem | null {
  const make = Object.hasOwn(SERVICES, kind) ? SERVICES[kind]! : null;
  if (make === null) return null;
  const service = make(asked);
  if (typeof service === "string") return service;
  const { params, at, context } = asked;
  const masks = ["mask_request_content", "mask_response_content"].map((name) => params.get(name));
  const flagged = params.get("on_flagged");
  const failing = params.get("fail_on_error");
  for (const node of [...masks, flagged, failing]) context.claims.taken(node, at);
  return {
    service,
    action: masks.some(isOn) ? "mask" : "block",
    onlyReports: textOf(flagged) === "monitor",
    onError: isOff(failing) ? "allow" : "block",
  };
}

/** Presidio's analyzer, for the entities that are named, or for all that it knows. */
export function presidioService(entities: readonly string[], asked: Asked): Mapping {
  const { params, at, context } = asked;
  const { claims, texts } = context;
  const address = addressIn("presidio_analyzer_api_base", asked);
  const language = params.get("presidio_language");
  claims.taken(language, at);
  claims.without(params.get("presidio_anonymizer_api_base"), "the gateway masks what the analyzer has found");
  return {
    type: "presidio",
    url: address ?? texts.referenceTo(ANALYZER, placeholderUrl(ANALYZER)),
    ...(textOf(language) !== null && { language: textOf(language)! }),
    ...(entities.length > 0 && { entities }),
  };
}

const ANALYZER = "PRESIDIO_ANALYZER_API_BASE";

function lakeraService(asked: Asked): Mapping {
  const { params, at, context } = asked;
  const project = params.get("project_id");
  context.claims.taken(project, at);
  return {
    type: "lakera",
    url: addressIn("api_base", asked) ?? context.texts.referenceTo("LAKERA_API_BASE", LAKERA_URL),
    headers: { authorization: joined("Bearer ", keyIn("LAKERA_API_KEY", asked)) },
    ...(textOf(project) !== null && { project: textOf(project)! }),
  };
}

function contentSafety(asked: Asked): Mapping | Problem {
  const { params, at, context } = asked;
  const { claims } = context;
  const url = addressIn("api_base", asked);
  if (url === null) return "it has no address; write api_base and import again";
  const severity = params.get("severity_threshold");
  const least = wholeOf(severity, 1, 6);
  claims.taken(severity, at);
  const lists = params.get("blocklistNames");
  const names = textsOf(lists);
  claims.taken(lists, at);
  for (const name of ["categories", "severity_threshold_by_category"])
    claims.without(params.get(name), "all categories count, from one severity on");
  return {
    type: "content_safety",
    url,
    headers: { "ocp-apim-subscription-key": keyIn("AZURE_API_KEY", asked) },
    least_severity: least ?? LEAST_SEVERITY,
    ...(names.length > 0 && { blocklists: names }),
  };
}

function moderation({ params, context, at }: Asked): Mapping {
  const model = params.get("model");
  context.claims.taken(model, at);
  const name = { family: "openai", keyVariable: "OPENAI_API_KEY" };
  return {
    type: "moderation",
    provider: deploymentAccount({ prefix: "openai", name, model: "" }, params, context),
    model: textOf(model) ?? MODERATION_MODEL,
  };
}

function bedrockGuardrails({ params, at, context }: Asked): Mapping | Problem {
  const { claims, texts } = context;
  const guardrail = params.get("guardrailIdentifier");
  const version = params.get("guardrailVersion");
  const id = guardrail === undefined ? null : textIn(guardrail, texts);
  if (id === null) return "it has no guardrailIdentifier";
  claims.taken(guardrail, at);
  claims.taken(version, at);
  const versionText = version === undefined ? null : textIn(version, texts);
  return {
    type: "guardrails",
    provider: deploymentAccount({ prefix: "bedrock", name: { family: "bedrock" }, model: "" }, params, context),
    guardrail: id,
    ...(versionText !== null && { version: versionText }),
  };
}

function modelArmor({ params, at, context }: Asked): Mapping | Problem {
  const template = params.get("template_id");
  const location = params.get("location");
  if (textOf(template) === null) return "it has no template_id";
  if (textOf(location) === null) return "it has no location; write that of its template and import again";
  context.claims.taken(template, at);
  const settings = new Map(
    [
      ["vertex_project", params.get("project_id")],
      ["vertex_location", location],
      ["vertex_credentials", params.get("credentials") ?? params.get("vertex_credentials")],
    ].filter((entry): entry is [string, ForeignNode] => entry[1] !== undefined),
  );
  return {
    type: "model_armor",
    provider: deploymentAccount({ prefix: "vertex_ai", name: { family: "vertex" }, model: "" }, settings, context),
    template: textOf(template)!,
  };
}

function addressIn(name: string, { params, at, context }: Asked): Value | null {
  const node = params.get(name);
  return node === undefined ? null : placed(context.texts.address(node), node, at, context.claims);
}

/** The key of the service, or of the variable that LiteLLM reads where it has none. */
function keyIn(variable: string, { params, at, context }: Asked): Reference | string {
  const { claims, texts } = context;
  const node = params.get("api_key");
  const found = texts.secret(node, variable.toLowerCase(), "unset");
  return placed(found, node, at, claims) ?? texts.referenceTo(variable, "unset");
}

/** Also of numbers, such as a version. */
function textIn(node: ForeignNode, texts: ImportContext["texts"]): Value | null {
  const name = texts.variableOf(node);
  if (name !== null) return texts.referenceTo(name, "unset");
  const number = numberOf(node);
  return textOf(node) ?? (number === null ? null : String(number));
}
