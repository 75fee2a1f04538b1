// The operations that this gateway serves.
import type { Operation } from "../engine/operation.ts";
import { CHAT_COMPLETIONS } from "./chat/chat-completions.ts";
import { COMPLETIONS } from "./completions/completions.ts";
import { MODERATIONS } from "./moderations/moderations.ts";
import { RERANK } from "./rerank/rerank.ts";
import { EMBEDDINGS } from "./embeddings/embeddings.ts";
import { INPUT_TOKENS } from "./responses/input-tokens.ts";
import { RESPONSES } from "./responses/responses.ts";
import { COUNT_TOKENS } from "./messages/count-tokens.ts";
import { MESSAGES } from "./messages/messages.ts";

/** Operations by their path below a base address. Each takes POST. */
export const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ["/chat/completions", CHAT_COMPLETIONS],
  ["/completions", COMPLETIONS],
  ["/embeddings", EMBEDDINGS],
  ["/rerank", RERANK],
  ["/moderations", MODERATIONS],
  ["/responses", RESPONSES],
  ["/responses/input_tokens", INPUT_TOKENS],
  ["/messages", MESSAGES],
  ["/messages/count_tokens", COUNT_TOKENS],
]);
