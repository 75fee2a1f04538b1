// The thread of long bodies (decisions 5.8): parses a request, holds it, says what is known of it, and writes it for each target in turn; reads a provider's plain
// answer, and writes the client's; reads what is meant for the sandbox. What it hands back are bytes and figures, never the parsed value.
import { parentPort } from "node:worker_threads";
import type { BodyBounds } from "../core/body-bounds.ts";
import type { ChatRequest, HeldConversation, VendorForm } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import type { Target } from "../core/target.ts";
import type { EncodedRequest } from "../providers/provider.ts";
import { providers } from "../providers/registry.ts";
import { readingOf } from "../providers/sandbox/reading.ts";
import type { ThreadReply, ThreadRequest } from "../wire/asked-thread.ts";
import { utf8Of } from "../wire/body-bytes.ts";
import { fitConversation } from "./fit-conversation.ts";
import { heldFigures, type RequestOutline, textWithoutConversation, withConversation } from "./held-conversation.ts";
import { parseChatRequest } from "./parse.ts";
import { bodyText } from "./read-body.ts";
import { thrownAs } from "./thrown-elsewhere.ts";
import { type AnswerQuestion, type WrittenAnswer, writtenAnswer } from "./written-answer.ts";

export interface OpenQuestion {
  readonly conversation: number;
  readonly bytes: Uint8Array;
  readonly bounds: BodyBounds;
  /** Of what stands beside the conversation. */
  readonly maxOutlineCharacters: number;
}

/** What is known of a long request. */
export interface Opened {
  /** The body with a stand-in for the conversation. */
  readonly outline: string;
  readonly held: HeldConversation;
  readonly blocks: ChatRequest["blocks"];
  /** Of the conversation. */
  readonly vendorForms: readonly VendorForm[];
  readonly toolImages: ReadonlySet<number>;
  readonly legacyFunctions: boolean;
  readonly isRewritten: boolean;
}

export interface EncodeQuestion {
  readonly conversation: number;
  readonly outline: RequestOutline;
  readonly target: Target;
  readonly nowMs: number;
}

const held = new Map<number, ChatRequest>();

function open({ conversation, bytes, bounds, maxOutlineCharacters }: OpenQuestion): Opened {
  const request = parseChatRequest(bodyText(bytes), bounds);
  const outline = textWithoutConversation(request.source, maxOutlineCharacters);
  held.set(conversation, request);
  return {
    outline: outline.text,
    held: heldFigures(request, conversation, outline.members),
    blocks: request.blocks,
    vendorForms: request.vendorForms.filter(({ path }) => path.startsWith("messages")),
    toolImages: request.toolImages,
    legacyFunctions: request.options.legacyFunctions,
    isRewritten: request.source.rewritten.has("messages"),
  };
}

async function encode({ conversation, outline, target, nowMs }: EncodeQuestion): Promise<EncodedRequest> {
  const provider = providers.get(target.family)!;
  const { request } = fitConversation(withConversation(outline, wholeOf(conversation)), provider.conversation(target));
  const encoded = provider.encodeRequest(request, target);
  const signed = await provider.sign(encoded.request, target.credential, { nowMs, settings: target.settings });
  return { ...encoded, request: { ...signed, body: "", bytes: new TextEncoder().encode(signed.body) } };
}

function wholeOf(conversation: number): ChatRequest {
  const request = held.get(conversation);
  if (request === undefined)
    throw new GatewayError("internal_error", "The gateway failed while it handled this request.", {
      detail: "the thread of long requests does not hold this conversation",
    });
  return request;
}

const METHODS: Readonly<Record<string, (question: never) => unknown>> = {
  open,
  encode,
  text: (conversation: number) => wholeOf(conversation).source.text,
  release: (conversation: number) => held.delete(conversation),
  read: (body: Uint8Array) => readingOf(utf8Of(body)),
  write: (question: AnswerQuestion) => writtenAnswer(question, providers.get(question.family)!),
};

/** What is handed over as it is, and not copied. */
function bytesIn(method: string, result: unknown): Uint8Array | undefined {
  if (method === "encode") return (result as Partial<EncodedRequest>).request?.bytes;
  return method === "write" ? (result as Partial<WrittenAnswer>).bytes : undefined;
}

async function answer({ id, method, args: [question] }: ThreadRequest): Promise<void> {
  let result: unknown;
  try {
    result = await METHODS[method]!(question as never);
  } catch (thrown) {
    result = { thrown: thrownAs(thrown) };
  }
  if (id === 0) return;
  const bytes = bytesIn(method, result);
  parentPort!.postMessage(
    { id, result } satisfies ThreadReply,
    bytes === undefined ? [] : [bytes.buffer as ArrayBuffer],
  );
}

parentPort!.on("message", (request: ThreadRequest) => void answer(request));
