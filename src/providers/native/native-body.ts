// The body and the address of a request to a provider that speaks the operation of the call: what the client wrote, but for what has to
// change (promise 12.3).
import type { ChatRequest } from "../../core/chat.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import type { Target } from "../../core/target.ts";
import { editedJson } from "../../wire/json/json-edit.ts";

/** Returns the client's own body with the edits of its fit, and then with those of the provider. */
export function nativeBody({ written }: ChatRequest, edits: readonly JsonEdit[]): string {
  if (written === undefined) throw new Error("a request of chat completions was encoded for another operation");
  return editedJson(written.text, [...(written.edits ?? []), ...edits]);
}

/** Returns the address with the members of the client's query that the target takes. */
export function nativeUrl(url: string, { query }: Target): string {
  if (query === undefined) return url;
  const address = new URL(url);
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return address.href;
}
