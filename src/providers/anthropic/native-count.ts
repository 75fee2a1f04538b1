// Counts of tokens before a call, by the vendor's own counter, which costs nothing:
// https://platform.claude.com/docs/en/build-with-claude/token-counting
import { nativeRequest } from "../native/native-body.ts";
import { decodeCount } from "../native/native-count.ts";
import type { NativeOperation } from "../native-operation.ts";
import { messagesUrl } from "./encode-request.ts";
import { classifyError } from "./errors.ts";
import { FOREIGN_TO_CLAUDE, MESSAGES, versionHeader } from "./native-messages.ts";

/** A count needs no marks. */
export const NATIVE_COUNT: NativeOperation = {
  ...MESSAGES,
  foreignSeal: FOREIGN_TO_CLAUDE,
  keepsThreads: true,
  source: "https://platform.claude.com/docs/en/api/messages-count-tokens",
  encodeRequest: (request, target) =>
    nativeRequest(request, target, `${messagesUrl(target.baseUrl)}/count_tokens`, versionHeader(target)),
  decodeResponse: (body, _context, value) => decodeCount(body, () => classifyError({ status: 200, body }), value),
};
