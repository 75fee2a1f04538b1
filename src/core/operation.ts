// Names of operations, as they stand in records, logs and the keys of the response cache.

export type OperationName = "chat.completions";

/** `unserved`: a request below a base address for an operation that the gateway does not serve. */
export type RecordedOperation = OperationName | "unserved";

/** The operation of records that name none, because they were written before there were others. */
export const EARLIEST_OPERATION: OperationName = "chat.completions";
