// Names of operations, as they stand in records, logs and the keys of the response cache.

export type OperationName = "chat.completions";

/** `unserved`: a request below a base address for an operation that the gateway does not serve. */
export type RecordedOperation = OperationName | "unserved";
