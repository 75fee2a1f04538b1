// Names of operations, as they stand in records, logs and the keys of the response cache.

export const OPERATION_NAMES = [
  "chat.completions",
  "responses",
  "responses.input_tokens",
  "messages",
  "messages.count_tokens",
  "embeddings",
  "completions",
  "rerank",
  "moderations",
  "tools.call",
] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];

/** Operations whose answers are values for inputs, and no generated text. */
export type TaskName = Extract<OperationName, "embeddings" | "rerank" | "moderations">;

/** `unserved`: a request below a base address for an operation that the gateway does not serve. */
export type RecordedOperation = OperationName | "unserved";

/** The operation of records that name none, because they were written before there were others. */
export const EARLIEST_OPERATION: OperationName = "chat.completions";
