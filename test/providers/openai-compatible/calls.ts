// Requests, targets and events for the tests of the OpenAI-shaped rows.
import type { ChatChunk } from "../../../src/core/chat.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Target } from "../../../src/core/target.ts";
import { fitConversation } from "../../../src/engine/fit/fit-conversation.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { openTable } from "../../../src/providers/conversation/conversation-members.ts";
import { openAICompatibleProvider } from "../../../src/providers/openai-compatible/provider.ts";
import { openaiCompatibleProviders } from "../../../src/providers/registry.ts";
import type { OpenAICompatibleRow } from "../../../src/providers/openai-compatible/row.ts";
import type { EncodedRequest } from "../../../src/providers/interface/encoded-request.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import { targetFor } from "../../harness/targets.ts";

const BY_ID: ReadonlyMap<string, Provider> = new Map(openaiCompatibleProviders.map((each) => [each.id, each]));

export function provider(id: string): Provider {
  const found = BY_ID.get(id);
  if (found === undefined) throw new Error(`no row ${id}`);
  return found;
}

/** A provider of its own, for what no present row says. */
export function providerOf(differences: Partial<OpenAICompatibleRow>): Provider {
  return openAICompatibleProvider({
    id: "acme",
    label: "Acme",
    docs: "https://acme.example/docs",
    baseUrl: "https://acme.example/v1",
    keyVariables: [],
    conversation: openTable("https://acme.example/docs"),
    takesDeveloper: true,
    ...differences,
  });
}

export function targetOf(of: Provider, model: string): Target {
  return targetFor(of, { model });
}

export const HELLO = [{ role: "user", content: "Hello" }] as const;

/** Encodes a body as the caller sent it, as text or as an object that gets a conversation. */
export function encode(by: Provider, body: string | JsonObject, model = "m-1"): EncodedRequest {
  const text =
    typeof body === "string" ? body : JSON.stringify({ model: `${by.id}:${model}`, messages: HELLO, ...body });
  const target = targetOf(by, model);
  return by.encodeRequest(fitConversation(parseChatRequest(text), by.conversation(target)).request, target);
}

export function wireBody(by: Provider, body: string | JsonObject, model?: string): JsonObject {
  return JSON.parse(encode(by, body, model).request.body) as JsonObject;
}

export const CONTEXT = { model: "m-1", memo: null } as const;

export function chunksOf(by: Provider, ...events: readonly (string | JsonObject)[]): readonly ChatChunk[] {
  const stream = by.openStream(CONTEXT);
  const chunks = events.flatMap((event) =>
    stream.push({ event: "", data: typeof event === "string" ? event : JSON.stringify(event) }),
  );
  return [...chunks, ...stream.end()];
}

/** What `run` throws; fails when it does not. */
export function thrownBy<E extends Error>(type: abstract new (...args: never[]) => E, run: () => unknown): E {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof type) return thrown;
    throw thrown;
  }
  throw new Error(`expected a ${type.name}, but nothing was thrown`);
}
