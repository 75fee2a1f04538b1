// The forms of requests by operation, without what answers them: the thread of long bodies needs no more.
import { CHAT_FORM } from "../engine/request/parse.ts";
import type { RequestForm } from "../core/chat.ts";
import type { OperationName } from "../core/operation.ts";
import { COMPLETIONS_FORM } from "./completions/parse-completions.ts";
import { MODERATIONS_FORM } from "./moderations/parse-moderations.ts";
import { RERANK_FORM } from "./rerank/parse-rerank.ts";
import { TOOL_CALL_FORM } from "./tool-call/parse-tool-call.ts";
import { EMBEDDINGS_FORM } from "./embeddings/parse-embeddings.ts";
import { COUNT_FORM, MESSAGES_FORM } from "./messages/messages-form.ts";
import { INPUT_TOKENS_FORM, RESPONSES_FORM } from "./responses/responses-form.ts";

export const FORMS: ReadonlyMap<OperationName, RequestForm> = new Map([
  ["chat.completions", CHAT_FORM],
  ["messages", MESSAGES_FORM],
  ["messages.count_tokens", COUNT_FORM],
  ["responses", RESPONSES_FORM],
  ["responses.input_tokens", INPUT_TOKENS_FORM],
  ["completions", COMPLETIONS_FORM],
  ["embeddings", EMBEDDINGS_FORM],
  ["rerank", RERANK_FORM],
  ["moderations", MODERATIONS_FORM],
  ["tools.call", TOOL_CALL_FORM],
]);
