// The forms that providers speak beside chat completions, by operation. They are the same at every provider.
import type { OperationName } from "../core/operation.ts";
import { MESSAGES_FORM } from "./anthropic/native-messages.ts";
import type { NativeForm } from "./provider.ts";
import { RESPONSES_FORM } from "./responses/native-responses.ts";

const FORMS: ReadonlyMap<OperationName, NativeForm> = new Map([
  ["messages", MESSAGES_FORM],
  ["messages.count_tokens", MESSAGES_FORM],
  ["responses", RESPONSES_FORM],
  ["responses.input_tokens", RESPONSES_FORM],
]);

/** Returns null for an operation that no provider speaks in a form of its own. */
export function nativeFormOf(operation: OperationName): NativeForm | null {
  return FORMS.get(operation) ?? null;
}
