// Requests to Vertex AI as a client sends them, encoded without fitting their parameters, and what became of them.
import { fitConversation } from "../../../src/engine/fit/fit-conversation.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Target } from "../../../src/core/target.ts";
import { vertex } from "../../../src/providers/vertex/provider.ts";
import { targetFor } from "../../harness/targets.ts";

export const HELLO: readonly JsonObject[] = [{ role: "user", content: "Hello" }];
export const TOKEN = { kind: "token", secret: "ya29.token", fromCaller: true } as const;
export const WEATHER = {
  type: "function",
  function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
} as const;

/** In project `p1`, at the location `europe-west4`. */
export function encode(model: string, fields: JsonObject = {}, changes: Partial<Target> = {}) {
  const target = targetFor(vertex, { model, settings: { project: "p1", location: "europe-west4" }, ...changes });
  const request = parseChatRequest(JSON.stringify({ model: `vertex:${model}`, messages: HELLO, ...fields }));
  return vertex.encodeRequest(fitConversation(request, vertex.conversation(target)).request, target);
}
export const urlOf = (model: string, changes: Partial<Target> = {}, fields: JsonObject = {}): string =>
  encode(model, fields, changes).request.url;
export const bodyOf = (model: string, fields: JsonObject = {}): Record<string, any> =>
  JSON.parse(encode(model, fields).request.body) as Record<string, any>;

export function refusalOf(run: () => unknown): {
  readonly code: string;
  readonly param: string | null;
  readonly message: string;
} {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { code: thrown.code, param: thrown.param, message: thrown.message };
    throw thrown;
  }
  throw new Error("nothing was refused");
}
