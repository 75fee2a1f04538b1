// Providers as the configuration knows them, one of each kind. Not the real registry: these tests are about the configuration.
import type { ProviderFamily } from "../../src/providers/settings.ts";

export const FAMILIES: readonly ProviderFamily[] = [
  { id: "openai", label: "OpenAI", baseUrl: "https://api.openai.com/v1", keyVariables: ["OPENAI_API_KEY"] },
  { id: "gemini", label: "Gemini", baseUrl: "https://generativelanguage.googleapis.com", keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"] },
  { id: "anthropic", label: "Anthropic", baseUrl: "https://api.anthropic.com", keyVariables: ["ANTHROPIC_API_KEY"] },
  { id: "azure", label: "Azure OpenAI", baseUrl: null, keyVariables: ["AZURE_OPENAI_API_KEY"] },
  { id: "vllm", label: "vLLM", baseUrl: "http://localhost:8000/v1", keyVariables: [] },
  { id: "localai", label: "LocalAI", baseUrl: "http://localhost:8080/v1", keyVariables: ["LOCALAI_API_KEY"] },
  { id: "custom", label: "Custom", baseUrl: null, keyVariables: [] },
  { id: "sandbox", label: "Sandbox", baseUrl: "inside://here", keyVariables: [] },
];
