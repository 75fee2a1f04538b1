// Addresses of Vertex AI: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/learn/locations (global,
// multi-regions, regions) and, for calls with only an API key,
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode/vertex-ai-express-mode-api-reference
import type { GatewayError } from "../../core/errors.ts";
import { invalidRequest } from "../../core/refusals.ts";
import type { Target } from "../../core/target.ts";
import { API_VERSION, versionedBase } from "../gemini/address.ts";
import type { ProviderSetting } from "../interface/provider-declaration.ts";

/** The host of the location `global`, from which the hosts of other locations are derived. */
export const GLOBAL_ADDRESS = "https://aiplatform.googleapis.com";
const GLOBAL = "global";
const MULTI_REGIONS: ReadonlySet<string> = new Set(["us", "eu"]);

const PROJECT = {
  name: "project",
  variables: ["VERTEXAI_PROJECT", "GOOGLE_VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT"],
  field: "vertex_project",
  meaning: "Google Cloud project. Only Gemini models called with an API key need none.",
} as const satisfies ProviderSetting;
const LOCATION = {
  name: "location",
  variables: ["VERTEXAI_LOCATION", "GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION"],
  field: "vertex_location",
  default: GLOBAL,
  meaning:
    "Google Cloud location that serves the call, such as europe-west4. The default is `global`, as in Google's own client.",
} as const satisfies ProviderSetting;

export const SETTINGS: readonly ProviderSetting[] = [
  PROJECT,
  LOCATION,
  {
    ...API_VERSION,
    meaning:
      "Version of the API, which is part of the URL. The default is the version that the base URL ends in, otherwise v1beta1 for Gemini models, as in Google's own client, and v1 for others.",
  },
];

/** Regions and multi-regions have a price of their own. */
export function isRegional({ settings }: Pick<Target, "settings">): boolean {
  return (settings[LOCATION.name] ?? GLOBAL) !== GLOBAL;
}

export interface Resource {
  /** The path below the location: `publishers/google/models/x:generateContent`. */
  readonly path: string;
  readonly version: string;
  /** Whether it can be called with only an API key. */
  readonly express: boolean;
}

/**
 * Throws GatewayError `invalid_request` when the project is missing, and for a project or location that would alter the
 * address.
 */
export function vertexAddress(target: Target, { path, version, express }: Resource): string {
  const location = target.settings[LOCATION.name] ?? GLOBAL;
  const project = target.settings[PROJECT.name];
  if (!/^[a-z0-9-]{1,63}$/.test(location))
    throw invalidRequest(
      LOCATION.field,
      `${LOCATION.field} must be a Google Cloud location, such as "europe-west4" or "global"; got ${JSON.stringify(location)}.`,
    );
  const base = versionedBase({ baseUrl: hostOf(target, location), settings: target.settings }, version);
  if (project === undefined) {
    if (!express || location !== GLOBAL || target.credential?.kind === "token") throw missingProject(target, express);
    return `${base}/${path}`;
  }
  if (!/^[a-z0-9][a-z0-9._-]*$/i.test(project))
    throw invalidRequest(
      PROJECT.field,
      `${PROJECT.field} must be the id of a Google Cloud project; got ${JSON.stringify(project)}.`,
    );
  return `${base}/projects/${project}/locations/${location}/${path}`;
}

/** Any other configured address, the operator's or the request's, is used unchanged. */
function hostOf({ baseUrl }: Target, location: string): string {
  if (baseUrl !== GLOBAL_ADDRESS || location === GLOBAL) return baseUrl;
  return MULTI_REGIONS.has(location)
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`;
}

/** A name as one path segment. The `@` of a version is not encoded, as in the vendors' clients. */
export function pathStep(name: string): string {
  return encodeURIComponent(name).replaceAll("%40", "@");
}

function missingProject({ providerId }: Target, express: boolean): GatewayError {
  const why = express ? " for this call; only an API key at the location global goes without" : " for this model";
  return invalidRequest(
    PROJECT.field,
    `Google Vertex AI needs a project${why}: set ${PROJECT.field}, or providers.${providerId}.project in the file, or ${PROJECT.variables[0]} in the environment of the gateway.`,
  );
}
