// Long requests, seen from the thread that serves calls (decisions 5.8): their bodies go to another thread as they came, and what comes back is a request without
// its conversation, and bytes for each target.
import type { BodyBounds } from "../core/body-bounds.ts";
import type { ChatRequest } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import type { Target } from "../core/target.ts";
import type { EncodedRequest } from "../providers/provider.ts";
import { outlineOf, withConversation } from "./held-conversation.ts";
import type { LongBodyThread } from "./long-body-thread.ts";
import type { EncodeQuestion, Opened, OpenQuestion } from "./long-body-worker.ts";
import { parseChatRequest } from "./parse.ts";

/** Of what stands beside a conversation that the other thread holds: it is parsed here. */
export const MAX_OUTLINE_CHARACTERS = 1_048_576;
/** Of all long requests together, and of those of one tenant; one more waits for no other, and is refused. */
const MAX_HELD_BYTES = 1024 * 1_048_576;
const MAX_TENANTS_BYTES = MAX_HELD_BYTES / 2;

export interface LongRequests {
  /** The request without its conversation, which has to be released in the end. Throws what the parser throws, or `gateway_overloaded`. */
  open(bytes: Uint8Array, bounds: BodyBounds, tenantId: string): Promise<ChatRequest>;
  /** Written and signed for the target. Throws what the encoder throws. */
  encode(request: ChatRequest, target: Target, nowMs: number): Promise<EncodedRequest>;
  /** The request with its conversation, for what only this thread can do with it: it takes the time that the other one would have saved. */
  whole(request: ChatRequest): Promise<ChatRequest>;
  release(request: ChatRequest): void;
}

export function openLongRequests(thread: LongBodyThread): LongRequests {
  const held = new Map<number, { readonly bytes: number; readonly tenantId: string }>();
  let last = 0;

  const ask = <T extends object | string>(
    id: number,
    method: string,
    question: unknown,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<T> => thread.ask<T>(held.get(id)?.tenantId ?? "", method, question, transfer);
  const release = (id: number): void => {
    if (held.delete(id)) thread.tell("release", id);
  };

  return {
    async open(bytes, bounds, tenantId) {
      let [all, own] = [bytes.length, bytes.length];
      for (const one of held.values()) {
        all += one.bytes;
        if (one.tenantId === tenantId) own += one.bytes;
      }
      if (all > MAX_HELD_BYTES || own > MAX_TENANTS_BYTES)
        throw new GatewayError(
          "gateway_overloaded",
          "The gateway holds as many long requests as it can, of all tenants or of one.",
          { headers: { "retry-after": "1" } },
        );
      const id = ++last;
      held.set(id, { bytes: bytes.length, tenantId });
      try {
        const question: OpenQuestion = {
          conversation: id,
          bytes,
          bounds,
          maxOutlineCharacters: MAX_OUTLINE_CHARACTERS,
        };
        return withoutConversation(await ask<Opened>(id, "open", question, [bytes.buffer as ArrayBuffer]));
      } catch (thrown) {
        release(id);
        throw thrown;
      }
    },
    encode: (request, target, nowMs) =>
      ask<EncodedRequest>(request.held!.id, "encode", {
        conversation: request.held!.id,
        outline: outlineOf(request),
        target,
        nowMs,
      } satisfies EncodeQuestion),
    async whole(request) {
      const text = await ask<string>(request.held!.id, "text", request.held!.id);
      return withConversation(outlineOf(request), parseChatRequest(text, null), request.options);
    },
    release: (request) => {
      if (request.held !== undefined) release(request.held.id);
    },
  };
}

/** What the serving thread works with. The body was found to be right, so that its rest is. */
function withoutConversation({
  outline,
  held,
  blocks,
  vendorForms,
  toolImages,
  legacyFunctions,
  isRewritten,
}: Opened): ChatRequest {
  const rest = parseChatRequest(outline, null);
  return {
    ...rest,
    messages: [],
    held,
    blocks,
    vendorForms: [...vendorForms, ...rest.vendorForms.filter(({ path }) => !path.startsWith("messages"))],
    toolImages,
    options: { ...rest.options, legacyFunctions },
    source: isRewritten ? { ...rest.source, rewritten: new Set([...rest.source.rewritten, "messages"]) } : rest.source,
  };
}
