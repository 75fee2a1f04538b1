// Names of beta features that other platforms have for the same feature, and features that only the vendor's own has.
// https://github.com/BerriAI/litellm/blob/main/litellm/anthropic_beta_headers_config.json
import type { FeatureHeader } from "../interface/native-operation.ts";

const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19"],
]);

/**
 * Features that need the vendor's own platform: its files, its containers, its connections to tool servers, its faster
 * machines. Bedrock and Vertex AI refuse a request that names them, although clients name them in every request.
 */
export const FEATURES_OF_THE_VENDOR: FeatureHeader = {
  name: "anthropic-beta",
  foreign: [
    { feature: /^files-api-/, inBody: ["file_id"] },
    { feature: /^skills-/, inBody: ["container", "skills"] },
    { feature: /^code-execution-/, inBody: ["container", "code_execution"] },
    { feature: /^mcp-client-/, inBody: ["mcp_"] },
    { feature: /^web-fetch-/, inBody: ["web_fetch"] },
    { feature: /^advisor-tool-/, inBody: ["advisor"] },
    { feature: /^fast-mode-/, inBody: ["speed"] },
    { feature: /^prompt-caching-scope-/, inBody: ["scope"] },
    { feature: /^oauth-/, inBody: [] },
  ],
};

/** Returns the features that a header lists, in its order, under their names on Bedrock and Vertex AI. */
export function betasElsewhere(header: string | undefined): readonly string[] {
  return (header ?? "")
    .split(",")
    .map((beta) => beta.trim())
    .filter((beta) => beta !== "")
    .map((beta) => ELSEWHERE.get(beta) ?? beta);
}
