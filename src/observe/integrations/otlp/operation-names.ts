// What OpenTelemetry's conventions for generative AI call the operations. They have no word for ranking, moderation and
// counting, for which they allow other words. https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/
import type { RecordedOperation } from "../../../core/operation.ts";

interface ConventionalOperation {
  /** The value of `gen_ai.operation.name`, which also begins the names of spans. */
  readonly name: string;
  /** The path as OpenTelemetry names it; undefined for an operation that is not served. */
  readonly route?: string;
}

const OPERATIONS: Readonly<Record<RecordedOperation, ConventionalOperation>> = {
  "chat.completions": { name: "chat", route: "/api/v1/chat/completions" },
  responses: { name: "chat", route: "/api/v1/responses" },
  "responses.input_tokens": { name: "count_tokens", route: "/api/v1/responses/input_tokens" },
  messages: { name: "chat", route: "/api/v1/messages" },
  "messages.count_tokens": { name: "count_tokens", route: "/api/v1/messages/count_tokens" },
  embeddings: { name: "embeddings", route: "/api/v1/embeddings" },
  completions: { name: "text_completion", route: "/api/v1/completions" },
  rerank: { name: "rerank", route: "/api/v1/rerank" },
  moderations: { name: "moderation", route: "/api/v1/moderations" },
  "tools.call": { name: "execute_tool", route: "/mcp" },
  unserved: { name: "unserved" },
};

export function conventionalOperation(operation: RecordedOperation): ConventionalOperation {
  return OPERATIONS[operation];
}
