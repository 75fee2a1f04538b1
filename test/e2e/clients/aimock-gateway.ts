// The real gateway with @copilotkit/aimock behind it, one server that plays the vendors below, each at its own paths.
import { LLMock } from "@copilotkit/aimock";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";

export interface Played {
  readonly played: string;
  /** What a client sends as `model`. */
  readonly model: string;
  /** How the answer's ids look. */
  readonly id: RegExp;
  /** Where a plain call arrives. */
  readonly path: string;
  /** Where reasoning stands in its answers: beside the text, before it in the same text, or in a field that the vendor does not have. */
  readonly reasoning: "beside" | "in-text" | "nowhere";
  /** A sentence that it says before calls of its own accord, in a stream alone. */
  readonly plan: string;
  /** False: its figures are zero whatever the fixture says, and every answer has ended as it should. */
  readonly tells: boolean;
  /** False: a streamed call is one event, in which there is nothing to cut. */
  readonly piecesOfCalls: boolean;
}

const FAITHFUL = { reasoning: "beside", plan: "", tells: true, piecesOfCalls: true } as const;
/** The gateway's own, where the mock gives none. */
const OWN_ID = /^chatcmpl-[0-9a-f]{32}$/;
const BEDROCK_MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

export const PLAYED: readonly Played[] = [
  { ...FAITHFUL, played: "OpenAI", model: "played-openai:gpt-4o", id: /^chatcmpl-/, path: "/v1/chat/completions" },
  {
    ...FAITHFUL,
    played: "Azure",
    model: "azure:gpt-4o",
    id: /^chatcmpl-/,
    path: "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
  },
  {
    ...FAITHFUL,
    played: "OpenRouter",
    model: "openrouter:openai/gpt-4o",
    id: /^gen-/,
    path: "/api/v1/chat/completions",
  },
  { ...FAITHFUL, played: "Anthropic", model: "anthropic:claude-sonnet-4-5", id: /^msg_/, path: "/v1/messages" },
  // the mock's answers have no responseId
  {
    ...FAITHFUL,
    played: "Gemini",
    model: "gemini:gemini-2.5-flash",
    id: OWN_ID,
    path: "/v1beta/models/gemini-2.5-flash:generateContent",
    piecesOfCalls: false,
  },
  {
    ...FAITHFUL,
    played: "Vertex",
    model: "vertex:gemini-2.5-flash",
    id: OWN_ID,
    path: "/v1/projects/played/locations/global/publishers/google/models/gemini-2.5-flash:generateContent",
    piecesOfCalls: false,
  },
  {
    ...FAITHFUL,
    played: "Bedrock",
    model: `bedrock:${BEDROCK_MODEL}`,
    id: OWN_ID,
    path: `/model/${encodeURIComponent(BEDROCK_MODEL)}/converse`,
  },
  {
    ...FAITHFUL,
    played: "Cohere",
    model: "cohere:command-a-reasoning-08-2025",
    id: /^msg_/,
    path: "/v2/chat",
    reasoning: "in-text",
    plan: "I will use the requested tool.",
  },
  {
    ...FAITHFUL,
    played: "Ollama",
    model: "ollama:qwen3:8b",
    id: OWN_ID,
    path: "/api/chat",
    reasoning: "nowhere",
    tells: false,
    piecesOfCalls: false,
  },
];

export interface AimockGateway {
  readonly gateway: GatewayProcess;
  readonly mock: LLMock;
  /** One user message, plain or streamed. */
  ask(model: string, content: string, more?: object): Promise<Response>;
  stop(): Promise<void>;
}

export async function startAimockGateway(): Promise<AimockGateway> {
  const mock = new LLMock({ port: 0, logLevel: "silent" });
  await mock.start();
  const gateway = await startGateway({
    // no breaker opens: the tests fail the same models again and again
    config: `route_defaults: { retries: 0, breaker: { failures: 1000 } }
providers:
  played-openai: {type: custom, base_url: "${mock.url}/v1", api_key: key-of-openai}
  anthropic: {base_url: "${mock.url}", api_key: key-of-anthropic}
  gemini: {base_url: "${mock.url}", api_key: key-of-gemini}
  azure: {base_url: "${mock.url}", api_version: "2024-10-21", api_key: key-of-azure}
  openrouter: {base_url: "${mock.url}/api/v1", api_key: key-of-openrouter}
  vertex: {base_url: "${mock.url}/v1", project: played, location: global, api_key: key-of-vertex}
  bedrock: {base_url: "${mock.url}", region: us-east-1, aws: {access_key_id: AKIAPLAYED, secret_access_key: secret-of-bedrock}}
  cohere: {base_url: "${mock.url}", api_key: key-of-cohere}
  ollama: {base_url: "${mock.url}"}
`,
  });
  return {
    gateway,
    mock,
    ask: (model, content, more = {}) => gateway.chat({ model, messages: [{ role: "user", content }], ...more }),
    async stop() {
      await gateway.stop();
      await mock.stop();
    },
  };
}
