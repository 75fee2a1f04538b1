// The real gateway with @copilotkit/aimock behind it, one server that plays OpenAI, Anthropic and Gemini.
import { LLMock } from "@copilotkit/aimock";
import { type GatewayProcess, startGateway } from "../harness/gateway-process.ts";

/** What a client sends as `model`, and how the answer's ids look. */
export const PLAYED = [
  { played: "OpenAI", model: "played-openai:gpt-4o", id: /^chatcmpl-/ },
  { played: "Anthropic", model: "anthropic:claude-sonnet-4-5", id: /^msg_/ },
  // the mock's answers have no responseId
  { played: "Gemini", model: "gemini:gemini-2.5-flash", id: /^chatcmpl-[0-9a-f]{32}$/ },
] as const;

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
    config: `providers:
  played-openai: {type: custom, base_url: "${mock.url}/v1", api_key: key-of-openai}
  anthropic: {base_url: "${mock.url}", api_key: key-of-anthropic}
  gemini: {base_url: "${mock.url}", api_key: key-of-gemini}
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
