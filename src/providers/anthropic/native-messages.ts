// The Messages API for clients that speak it themselves: their own body goes out with another model, their versions and
// beta features go along, and answers and streams are read for their figures only.
// https://platform.claude.com/docs/en/api/messages
import { FEATURES_OF_THE_VENDOR } from "./beta-names.ts";
import { nativeRequest } from "../native/native-body.ts";
import { isObject, isSet, type Json, type JsonObject, listIn } from "../../core/json.ts";
import type { PlacedTool } from "../../core/request/held-body.ts";
import type { Target } from "../../core/target.ts";
import { markEdits } from "../claude/cache-marks.ts";
import { signedBlock } from "../conversation/signed-thinking.ts";
import type { NativeForm, NativeOperation } from "../interface/native-operation.ts";
import { decodeResponse } from "./decode-response.ts";
import { openStream } from "./decode-stream.ts";
import { API_VERSION, messagesUrl } from "./encode-request.ts";

const CLIENT_TOOLS = /^(custom|(bash|text_editor|memory|computer|computer_toolset|browser_toolset)_\d+)$/;

export const MESSAGES_FORM: NativeForm = {
  parameters: {
    temperature: ["temperature"],
    top_p: ["top_p"],
    max_tokens: ["max_tokens"],
    max_completion_tokens: ["max_tokens"],
  },
  // https://platform.claude.com/docs/en/agents-and-tools/mcp-connector
  privileged: ["mcp_servers", "fallbacks", "fallback_credit_token", "workspace_id", "user_profile_id"],
  privilegedInTools: [],
  // https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference: tools that the client runs
  isClientTool: (_tool, type) => CLIENT_TOOLS.test(type),
  furtherTools: toolsOfTurns,
  vendorIds: ["file_id", "container", "previous_message_id"],
  // BetaMessageThreadParam of https://github.com/anthropics/anthropic-sdk-typescript
  threadMember: "thread",
  keptFor: ["thread", "diagnostics"],
  // https://code.claude.com/docs/en/llm-gateway-protocol: the wording of a refusal tells the client what to leave out
  refusalsAreClients: true,
  features: FEATURES_OF_THE_VENDOR,
  reasoningBack: signedBlock,
  prompt: ({ tools, system, messages, thread }) => (thread == null ? { tools, system, turns: messages } : null),
  reasoningSeals: { thinking: "signature", redacted_thinking: "data" },
};

/** https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages: tools that are added by value */
function* toolsOfTurns({ messages }: JsonObject): Generator<PlacedTool> {
  for (const [index, message] of listIn(messages).entries())
    for (const [at, block] of listIn(isObject(message) ? message["content"] : undefined).entries())
      yield* toolsOfBlock(block, `messages[${index}].content[${at}]`);
}

/** A block that stands for earlier turns has their changes of the tools. */
function* toolsOfBlock(block: Json, path: string): Generator<PlacedTool> {
  if (!isObject(block)) return;
  const { type, tool, tool_changes: changes } = block;
  if (type === "tool_addition" && isObject(tool) && isSet(tool["definition"]))
    yield { path: `${path}.tool.definition`, tool: tool["definition"] };
  for (const [index, change] of listIn(changes).entries())
    yield* toolsOfBlock(change, `${path}.tool_changes[${index}]`);
}

/**
 * Claude's signatures are base64 on every platform. Other vendors of the form sign with ids and hashes.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */
export const FOREIGN_TO_CLAUDE = /^(?:[0-9a-f]{32,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

export function versionHeader({ settings }: Target): Readonly<Record<string, string>> {
  return { "anthropic-version": settings["api_version"] ?? API_VERSION };
}

/** As any vendor of the form serves it. */
export const MESSAGES: NativeOperation = {
  source: "https://platform.claude.com/docs/en/api/messages",
  form: MESSAGES_FORM,
  framing: "sse",
  clientHeaders: ["anthropic-version", "anthropic-beta"],
  // https://code.claude.com/docs/en/llm-gateway-protocol: the vendor's clients ask for /v1/messages?beta=true
  clientQuery: ["beta"],
  answerHeaders: ["anthropic-version", "anthropic-beta"],
  encodeRequest: (request, target) =>
    nativeRequest(request, target, messagesUrl(target.baseUrl), versionHeader(target)),
  decodeResponse,
  openStream,
};

/** As every platform serves Claude. */
export const CLAUDE_MESSAGES: NativeOperation = { ...MESSAGES, foreignSeal: FOREIGN_TO_CLAUDE, markEdits };

/** As Claude's own vendor serves it. */
export const NATIVE_MESSAGES: NativeOperation = { ...CLAUDE_MESSAGES, keepsThreads: true };
