// Tools that the vendor runs at a price for each use: https://platform.claude.com/docs/en/about-claude/pricing.
// Running code is billed by the hour and has no price here.
import type { PricedTool } from "../../core/configured/hosted-tool.ts";

const SOURCE = "https://platform.claude.com/docs/en/about-claude/pricing";

export const HOSTED_TOOLS: readonly PricedTool[] = [
  { kind: "web_search", types: ["web_search_20250305", "web_search_20260209"], nanoUsd: 10_000_000, source: SOURCE },
  { kind: "web_fetch", types: ["web_fetch_20250910", "web_fetch_20260209"], nanoUsd: 0, source: SOURCE },
];
