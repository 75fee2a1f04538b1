// Counts of tokens before a call, by the vendor's own counter, which costs nothing:
// https://platform.claude.com/docs/en/build-with-claude/token-counting
import { nativeRequest } from "../native/native-body.ts";
import { decodeCount } from "../native/native-count.ts";
import type { NativeOperation } from "../interface/native-operation.ts";
import { messagesUrl } from "./encode-request.ts";
import { classifyError } from "./errors.ts";
import { FOREIGN_TO_CLAUDE, MESSAGES, versionHeader } from "./native-messages.ts";

/** https://platform.claude.com/docs/en/api/messages-count-tokens: others are refused there, such as `max_tokens` and `temperature`. */
const COUNTED: ReadonlySet<string> = new Set([
  "messages",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
  "context_management",
  "mcp_servers",
]);

/** A count needs no marks. */
export const NATIVE_COUNT: NativeOperation = {
  ...MESSAGES,
  foreignSeal: FOREIGN_TO_CLAUDE,
  keepsThreads: true,
  counted: COUNTED,
  source: "https://platform.claude.com/docs/en/api/messages-count-tokens",
  encodeRequest: (request, target) =>
    nativeRequest(request, target, `${messagesUrl(target.baseUrl)}/count_tokens`, versionHeader(target)),
  decodeResponse: (body, _context, value) => decodeCount(body, () => classifyError({ status: 200, body }), value),
};
