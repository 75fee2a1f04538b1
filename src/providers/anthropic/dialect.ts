// What only this vendor understands (promise 5.7): its content blocks, tool types and values of tool_choice, which a
// caller may send unchanged. https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference
import type { JsonObject } from "../../core/json.ts";
import type { Dialect } from "../interface/dialect.ts";

/** Blocks in the vendor's own form, so that turns with server tools can be sent back complete. */
export const BLOCKS_AS_THEY_ARE: readonly string[] = [
  "image",
  "search_result",
  "container_upload",
  "thinking",
  "redacted_thinking",
  "tool_use",
  "tool_result",
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "mcp_tool_use",
  "mcp_tool_result",
  "compaction",
];

/** Tool types. A star at the end stands for the dated versions. */
const TOOL_TYPES: readonly string[] = [
  "custom",
  "web_search_*",
  "web_fetch_*",
  "code_execution_*",
  "computer_*",
  "browser_*",
  "bash_*",
  "text_editor_*",
  "memory_*",
  "tool_search_tool_*",
  "advisor_*",
  "mcp_toolset",
];

export const dialect: Dialect = {
  blocks: [...BLOCKS_AS_THEY_ARE, "refusal"],
  tools: TOOL_TYPES,
  toolChoices: ["any", "tool"],
  messageRules: [],
};

/** https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool */
const ADVISOR_BETA = "advisor-tool-2026-03-01";

/**
 * Beta headers that the vendor requires for dated tool types. They are derived from the tool, because a caller may lack
 * the permission to set headers.
 */
const TOOL_BETAS: readonly (readonly [type: string, beta: string])[] = [
  ["computer_20241022", "computer-use-2024-10-22"],
  ["computer_20250124", "computer-use-2025-01-24"],
  ["computer_20251124", "computer-use-2025-11-24"],
  ["code_execution_20250522", "code-execution-2025-05-22"],
  ["code_execution_20250825", "code-execution-2025-08-25"],
  ["web_fetch_20250910", "web-fetch-2025-09-10"],
  ["memory_20250818", "context-management-2025-06-27"],
  ["advisor_20260301", ADVISOR_BETA],
];

export function betasOfTools(types: readonly unknown[]): string[] {
  return TOOL_BETAS.filter(([type]) => types.includes(type)).map(([, beta]) => beta);
}

/**
 * Beta headers that blocks of earlier turns require:
 * https://platform.claude.com/docs/en/build-with-claude/compaction and .../agents-and-tools/mcp-connector
 */
const BLOCK_BETAS: ReadonlyMap<unknown, string> = new Map([
  ["compaction", "compact-2026-01-12"],
  ["mcp_tool_use", "mcp-client-2025-11-20"],
  ["mcp_tool_result", "mcp-client-2025-11-20"],
  ["advisor_tool_result", ADVISOR_BETA],
]);

export function betasOfBlocks(turns: readonly { readonly content: string | readonly JsonObject[] }[]): string[] {
  const betas = new Set<string>();
  for (const { content } of turns) {
    if (typeof content === "string") continue;
    for (const { type } of content) {
      const beta = BLOCK_BETAS.get(type);
      if (beta !== undefined) betas.add(beta);
    }
  }
  return [...betas];
}
