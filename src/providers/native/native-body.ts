// The body and the address of a request to a provider that speaks the operation of the call: what the client wrote, but for what has to
// change (promise 12.3).
import type { ChatRequest } from "../../core/chat.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import type { Target } from "../../core/target.ts";
import { editedJson } from "../../wire/json/json-edit.ts";
import { type EncodedRequest, jsonPost } from "../interface/encoded-request.ts";

/** Returns the client's own body with the edits of its fit, and then with those of the provider. */
export function nativeBody({ written }: ChatRequest, edits: readonly JsonEdit[]): string {
  if (written === undefined) throw new Error("a request of chat completions was encoded for another operation");
  return editedJson(written.text, [...(written.edits ?? []), ...edits]);
}

/** Returns the client's own body with the target's model, at the address with the members of the client's query. */
export function nativeRequest(
  request: ChatRequest,
  { model, headers, query }: Target,
  url: string,
  ofForm: Readonly<Record<string, string>>,
): EncodedRequest {
  const address = query === undefined ? url : withQuery(url, query);
  const body = nativeBody(request, [{ path: ["model"], value: model }]);
  return { request: jsonPost(address, { ...ofForm, ...headers }, body), memo: null };
}

function withQuery(url: string, query: Readonly<Record<string, string>>): string {
  const address = new URL(url);
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return address.href;
}
