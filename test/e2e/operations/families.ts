// Every wire family behind the gateway: how it is configured and called, and which common parameters it does not
// support. Its answers are in expected-answers.ts.
import { azure, bedrock, sagemaker, vertex, vertexClaude } from "./wire-families-clouds.ts";
import { cohere, ollama } from "./wire-families-native.ts";
import { anthropic, gemini, openai } from "./wire-families.ts";

export const WIRE_FAMILIES = {
  openai,
  azure,
  anthropic,
  gemini,
  vertex,
  vertex_claude: vertexClaude,
  bedrock,
  sagemaker,
  cohere,
  ollama,
} as const;
export type Wire = keyof typeof WIRE_FAMILIES;

/** Families of one form say the same things at the same places. */
export type Form = Exclude<Wire, "azure" | "sagemaker" | "vertex" | "vertex_claude">;

/** What may be refused by the capability table. */
export type Refusable = "n" | "image_url" | "file" | "input_audio" | "forced-tools";

export interface Family {
  readonly wire: Wire;
  readonly form: Form;
  /** What a client sends as `model`. */
  readonly model: string;
  /** The path that the scripted model is called at, whole and streamed. */
  readonly paths: readonly [string, string];
  /** The header by which the provider knows who calls. */
  readonly key: { readonly header: string; readonly value: RegExp };
  readonly refuses: readonly Refusable[];
  /** Several choices are as many calls. */
  readonly choicesByCalls?: true;
}

const VERTEX_MODEL =
  "/vertex/v1beta1/projects/scripted-project/locations/europe-west4/publishers/google/models/gemini-2.5-flash";
const VERTEX_CLAUDE =
  "/vertex_claude/v1/projects/scripted-project/locations/europe-west4/publishers/anthropic/models/claude-sonnet-4-5@20250929";
const BEDROCK_MODEL = "/bedrock/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0";
const signedBy = (id: string, service: string): RegExp =>
  new RegExp(
    `^AWS4-HMAC-SHA256 Credential=${id}/\\d{8}/eu-central-1/${service}/aws4_request, SignedHeaders=[a-z0-9;-]+, Signature=[0-9a-f]{64}$`,
  );

export const FAMILIES: readonly Family[] = [
  {
    wire: "openai",
    form: "openai",
    model: "scripted:scripted-model",
    paths: ["/openai/v1/chat/completions", "/openai/v1/chat/completions"],
    key: { header: "authorization", value: /^Bearer key-of-scripted$/ },
    refuses: [],
  },
  {
    wire: "azure",
    form: "openai",
    model: "azure:scripted-deployment",
    refuses: [],
    paths: [
      "/azure/openai/deployments/scripted-deployment/chat/completions?api-version=2024-10-21",
      "/azure/openai/deployments/scripted-deployment/chat/completions?api-version=2024-10-21",
    ],
    key: { header: "api-key", value: /^key-of-azure$/ },
  },
  {
    wire: "anthropic",
    form: "anthropic",
    model: "anthropic:claude-sonnet-4-5",
    paths: ["/anthropic/v1/messages", "/anthropic/v1/messages"],
    key: { header: "x-api-key", value: /^key-of-anthropic$/ },
    refuses: ["n", "input_audio"],
  },
  {
    wire: "gemini",
    form: "gemini",
    model: "gemini:gemini-2.5-flash",
    refuses: [],
    paths: [
      "/gemini/v1beta/models/gemini-2.5-flash:generateContent",
      "/gemini/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    ],
    key: { header: "x-goog-api-key", value: /^key-of-gemini$/ },
  },
  {
    wire: "vertex",
    form: "gemini",
    model: "vertex:gemini-2.5-flash",
    refuses: [],
    paths: [`${VERTEX_MODEL}:generateContent`, `${VERTEX_MODEL}:streamGenerateContent?alt=sse`],
    key: { header: "authorization", value: /^Bearer token-of-vertex-\d+$/ },
  },
  {
    wire: "vertex_claude",
    form: "anthropic",
    model: "vertex_claude:claude-sonnet-4-5@20250929",
    refuses: ["n", "input_audio"],
    paths: [`${VERTEX_CLAUDE}:rawPredict`, `${VERTEX_CLAUDE}:streamRawPredict`],
    key: { header: "authorization", value: /^Bearer token-of-vertex-\d+$/ },
  },
  {
    wire: "bedrock",
    form: "bedrock",
    model: "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    refuses: ["n", "input_audio"],
    paths: [`${BEDROCK_MODEL}/converse`, `${BEDROCK_MODEL}/converse-stream`],
    key: { header: "authorization", value: signedBy("AKIASCRIPTED", "bedrock") },
  },
  {
    wire: "sagemaker",
    form: "openai",
    model: "sagemaker:scripted-endpoint",
    refuses: [],
    paths: [
      "/sagemaker/endpoints/scripted-endpoint/invocations",
      "/sagemaker/endpoints/scripted-endpoint/invocations-response-stream",
    ],
    key: { header: "authorization", value: signedBy("AKIASCRIPTED", "sagemaker") },
  },
  {
    wire: "cohere",
    form: "cohere",
    model: "cohere:command-a-reasoning-08-2025",
    paths: ["/cohere/v2/chat", "/cohere/v2/chat"],
    key: { header: "authorization", value: /^Bearer key-of-cohere$/ },
    refuses: ["n", "image_url", "file", "input_audio"],
  },
  {
    wire: "ollama",
    form: "ollama",
    model: "ollama:qwen3:8b",
    paths: ["/ollama/api/chat", "/ollama/api/chat"],
    key: { header: "authorization", value: /^Bearer key-of-ollama$/ },
    refuses: ["file", "forced-tools"],
    choicesByCalls: true,
  },
];

/** The `providers:` section of a gateway before the scripted server at `url`, with Google's tokens from `tokenUrl`. */
export function familiesConfig(url: string, tokenUrl: string, serviceAccount: object): string {
  const google = `token_url: "${tokenUrl}", google: {service_account: ${JSON.stringify(JSON.stringify(serviceAccount))}}`;
  return `providers:
  scripted: {type: custom, base_url: "${url}/openai/v1", api_key: key-of-scripted, models: [scripted-model]}
  azure: {base_url: "${url}/azure", api_version: "2024-10-21", api_key: key-of-azure}
  anthropic: {base_url: "${url}/anthropic", api_key: key-of-anthropic}
  gemini: {base_url: "${url}/gemini", api_key: key-of-gemini}
  vertex: {base_url: "${url}/vertex", project: scripted-project, location: europe-west4, ${google}}
  vertex_claude: {type: vertex, base_url: "${url}/vertex_claude", project: scripted-project, location: europe-west4, ${google}}
  vertex-by-key: {type: vertex, base_url: "${url}/vertex", project: scripted-project, location: europe-west4, api_key: key-of-vertex}
  bedrock: {base_url: "${url}/bedrock", region: eu-central-1, aws: {access_key_id: AKIASCRIPTED, secret_access_key: secret-of-bedrock}}
  bedrock-by-key: {type: bedrock, base_url: "${url}/bedrock", region: eu-central-1, api_key: key-of-bedrock}
  sagemaker: {base_url: "${url}/sagemaker", region: eu-central-1, aws: {access_key_id: AKIASCRIPTED, secret_access_key: secret-of-sagemaker}}
  cohere: {base_url: "${url}/cohere", api_key: key-of-cohere}
  ollama: {base_url: "${url}/ollama", api_key: key-of-ollama}
`;
}
