// Names of beta features that other platforms have for the same feature.
// https://github.com/BerriAI/litellm/blob/main/litellm/anthropic_beta_headers_config.json

const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19"],
]);

/** Returns the features that a header lists, in its order, under their names on Bedrock and Vertex AI. */
export function betasElsewhere(header: string | undefined): readonly string[] {
  return (header ?? "")
    .split(",")
    .map((beta) => beta.trim())
    .filter((beta) => beta !== "")
    .map((beta) => ELSEWHERE.get(beta) ?? beta);
}
