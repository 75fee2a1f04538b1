// Claude on Vertex AI for clients that speak the Messages API: their body without the model, which is in the address.
// https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
import type { ChatRequest } from "../../core/chat.ts";
import type { Target } from "../../core/target.ts";
import { betasElsewhere } from "../anthropic/beta-names.ts";
import { headersWithBetas } from "../anthropic/encode-request.ts";
import { CLAUDE_MESSAGES } from "../anthropic/native-messages.ts";
import { nativeBody } from "../native/native-body.ts";
import { type EncodedRequest, jsonPost } from "../interface/encoded-request.ts";
import type { NativeOperation } from "../interface/native-operation.ts";
import { claudeUrl, MESSAGES_VERSION } from "./claude-models.ts";

function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { "anthropic-beta": header, "anthropic-version": _ofAnthropic, ...headers } = target.headers;
  const url = claudeUrl(target, request.params.stream === true);
  const body = nativeBody(request, [
    { path: ["model"], value: undefined },
    { path: ["anthropic_version"], value: MESSAGES_VERSION },
  ]);
  return { request: jsonPost(url, headersWithBetas(headers, betasElsewhere(header)), body), memo: null };
}

export const NATIVE_CLAUDE: NativeOperation = {
  ...CLAUDE_MESSAGES,
  source: "https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai",
  clientQuery: [],
  lacksFeatures: true,
  encodeRequest,
};
