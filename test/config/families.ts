// Providers as the configuration knows them, one of each kind. Not the real registry: these tests are about the configuration.
import type { ProviderFamily } from "../../src/providers/settings.ts";

/** Parameters that widen the choice of models: none. */
const NONE: ReadonlySet<string> = new Set();
const KEYED = { privileged: NONE, baseUrlVariables: [], credentials: ["key"], settings: [] } as const;

export const FAMILIES: readonly ProviderFamily[] = [
  { ...KEYED, id: "openai", label: "OpenAI", baseUrl: "https://api.openai.com/v1", keyVariables: ["OPENAI_API_KEY"] },
  {
    ...KEYED,
    id: "gemini",
    label: "Gemini",
    baseUrl: "https://generativelanguage.googleapis.com",
    keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  },
  {
    ...KEYED,
    id: "anthropic",
    label: "Anthropic",
    baseUrl: "https://api.anthropic.com",
    keyVariables: ["ANTHROPIC_API_KEY"],
  },
  { ...KEYED, id: "azure", label: "Azure OpenAI", baseUrl: null, keyVariables: ["AZURE_OPENAI_API_KEY"] },
  { ...KEYED, id: "vllm", label: "vLLM", baseUrl: "http://localhost:8000/v1", keyVariables: [] },
  { ...KEYED, id: "localai", label: "LocalAI", baseUrl: "http://localhost:8080/v1", keyVariables: ["LOCALAI_API_KEY"] },
  { ...KEYED, id: "custom", label: "Custom", baseUrl: null, keyVariables: [] },
  { ...KEYED, id: "sandbox", label: "Sandbox", baseUrl: "inside://here", keyVariables: [] },
];

/** One for each form of credential, as clouds have them. */
export const CLOUDS: readonly ProviderFamily[] = [
  {
    privileged: NONE,
    id: "hills",
    label: "Hills",
    baseUrl: "https://runtime.{region}.hills.example",
    baseUrlVariables: [],
    keyVariables: ["HILLS_TOKEN"],
    credentials: ["key", "aws"],
    settings: [
      {
        name: "region",
        variables: ["HILLS_REGION", "HILLS_DEFAULT_REGION"],
        field: "aws_region_name",
        meaning: "Region of the models.",
      },
    ],
  },
  {
    privileged: NONE,
    id: "valley",
    label: "Valley",
    baseUrl: "https://{location}.valley.example/v1",
    baseUrlVariables: [],
    keyVariables: ["VALLEY_API_KEY"],
    credentials: ["key", "google"],
    settings: [
      { name: "project", variables: ["VALLEY_PROJECT"], field: "vertex_project", meaning: "Project that pays." },
      {
        name: "location",
        variables: ["VALLEY_LOCATION"],
        field: "vertex_location",
        default: "global",
        meaning: "Location of the models.",
      },
    ],
  },
  {
    privileged: NONE,
    id: "coast",
    label: "Coast",
    baseUrl: "https://{resource}.coast.example/v1",
    baseUrlVariables: ["COAST_ENDPOINT"],
    keyVariables: ["COAST_API_KEY"],
    credentials: ["key", "entra"],
    settings: [
      { name: "resource", variables: ["COAST_RESOURCE"], meaning: "Name of the resource." },
      { name: "api_version", variables: ["COAST_VERSION"], field: "api_version", meaning: "Version of the API." },
    ],
  },
  {
    ...KEYED,
    id: "shed",
    label: "Shed",
    baseUrl: "http://localhost:9999",
    baseUrlVariables: ["SHED_HOST"],
    keyVariables: [],
  },
  {
    ...KEYED,
    id: "garage",
    label: "Garage",
    baseUrl: "http://127.0.0.1:9998/v1",
    baseUrlVariables: ["GARAGE_HOST"],
    keyVariables: ["GARAGE_KEY"],
  },
  {
    privileged: NONE,
    id: "river",
    label: "River",
    baseUrl: "https://river.example/v1",
    baseUrlVariables: [],
    keyVariables: ["RIVER_API_KEY"],
    credentials: ["ibm_iam"],
    settings: [],
  },
];
