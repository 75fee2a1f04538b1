// The thread of long bodies (promise 5.8). It parses a long request, holds it, reports its properties, and writes it
// for each target. It also reads the answers of tasks, and long requests to the sandbox. Of a request it returns bytes and
// figures, never the parsed value. Its program is in src/operations/, which knows the forms of requests.
import { parentPort } from "node:worker_threads";
import type { Matches, SentGuard } from "../../guards/guard-search.ts";
import type { PackedTexts } from "../../guards/packed-texts.ts";
import type { BodyBounds } from "../../core/request/body-bounds.ts";
import type {
  CarrierOpening,
  ChatRequest,
  HeldConversation,
  RequestForm,
  SpokenOperation,
  VendorForm,
  WrittenRequest,
} from "../../core/chat.ts";
import type { CacheMarks, NumberedPrompt } from "../../core/configured/prompt-cache.ts";
import { GatewayError } from "../../core/errors.ts";
import { type JsonEdit, memberEdits, withEdits } from "../../core/request/json-edit.ts";
import type { JsonObject } from "../../core/json.ts";
import type { OperationName } from "../../core/operation.ts";
import { withMembers } from "../../core/request/request-source.ts";
import type { Target } from "../../core/target.ts";
import { nativeFormOf } from "../../providers/native-forms.ts";
import type { EncodedRequest, JoinedText } from "../../providers/interface/encoded-request.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { providers } from "../../providers/registry.ts";
import { readingOf, type SandboxReading } from "../../providers/sandbox/reading.ts";
import type { TaskAnswer } from "../../providers/interface/task-form.ts";
import type { ThreadReply, ThreadRequest } from "../../wire/request-thread.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import { editedJson } from "../../wire/json/json-edit.ts";
import { type Fetched, type ContentPlace, placesToFetch, withContent } from "../attempt/content-places.ts";
import { promptPieces } from "../attempt/prompt-pieces.ts";
import { leavesAny, openedEdits, openedMessages } from "../carriers/opened-request.ts";
import { requireReasoning, type ReturningMember, returningMember } from "../carriers/returned-reasoning.ts";
import { cutWithMargin, type Fitting } from "../content/content-size.ts";
import { fitConversation, withToolImages, encodedRequest, joinedTexts } from "../fit/fit-conversation.ts";
import { answeringPrompts } from "../fit/raw-prompts.ts";
import type { TaskPart } from "../fit/task-parts.ts";
import { type HeldFinding, HeldGuardSearch, type HeldPlace } from "../guards/guard-held.ts";
import { heldBody } from "../native/native-facts.ts";
import { withMarkEdits } from "../native/native-target.ts";
import { decodedTask, type TaskQuestion } from "./decoded-task.ts";
import {
  heldFigures,
  unansweredText,
  type HeldRequest,
  type RequestOutline,
  textWithoutConversation,
  withConversation,
} from "./held-conversation.ts";
import { bodyText } from "../call/read-body.ts";
import { received, sendable } from "./sent-values.ts";
import { transferableError } from "./transferred-error.ts";

interface BodyQuestion {
  readonly conversation: number;
  readonly operation: OperationName;
  readonly bounds: BodyBounds;
}

/** Asks what a body names of what is kept. */
export interface NamesQuestion extends BodyQuestion {
  readonly bytes: Uint8Array;
}

export interface OpenQuestion extends BodyQuestion {
  /** `null` where it was sent with NamesQuestion. */
  readonly bytes: Uint8Array | null;
  /** What was found of what the body names; `null` where nothing is kept for the caller. */
  readonly kept: { readonly found: unknown } | null;
  /** Bounds the body without the conversation. */
  readonly maxOutlineCharacters: number;
}

/** The properties of a long request. */
export interface Opened {
  /** The body with a placeholder for the conversation. */
  readonly outline: string;
  readonly held: Omit<HeldConversation, "unanswered">;
  /** As in HeldConversation; JSON in which numbers that a double cannot represent keep their digits. */
  readonly unanswered: string;
  readonly blocks: ChatRequest["blocks"];
  /** The forms in the conversation that only some vendors accept. */
  readonly vendorForms: readonly VendorForm[];
  readonly toolImages: ReadonlySet<number>;
  readonly legacyFunctions: boolean;
  readonly isRewritten: boolean;
  /** What the client wrote, without its text and body; `null` where it wrote a chat completion. */
  readonly written: WrittenRequest | null;
}

/** Passes on what guards have found in the texts of a conversation. */
export interface FoundQuestion {
  readonly conversation: number;
  readonly guards: readonly SentGuard[];
  /** `null` when the search did not come to an end. */
  readonly matches: Matches | null;
}

export interface FindingsQuestion {
  readonly conversation: number;
  /** The index of the guard in the list of FoundQuestion. */
  readonly place: number;
  readonly where: HeldPlace;
}

/** Asks which files have to be fetched for a model. */
export interface PlacesQuestion {
  readonly conversation: number;
  readonly family: string;
  readonly model: string;
}

export interface FillQuestion {
  readonly conversation: number;
  /** The id by which later questions refer to these files. */
  readonly fill: number;
  readonly places: readonly ContentPlace[];
  readonly fetched: readonly Fetched[];
}

/** Asks for the part of a conversation that the project keeps. */
export interface CutQuestion {
  readonly conversation: number;
  readonly characters: number;
}

export interface CutMessages extends Omit<Fitting, "kept"> {
  /** JSON in which numbers that a double cannot represent keep their digits. */
  readonly kept: string;
}

/** Asks for a request as it is sent to a target. */
interface EncodingQuestion {
  readonly conversation: number;
  /** Ids of the guards that mask what they have found. */
  readonly masks: readonly string[];
  /** `null` when there are no carriers. */
  readonly opening: CarrierOpening | null;
  readonly target: Target;
  readonly nowMs: number;
  /** Whether the answer has to say of which pieces the prompt consists. */
  readonly tellsPrompt: boolean;
}

/** Asks for what the client wrote, as it is sent to a target that speaks the operation. */
export interface EncodeNativeQuestion extends EncodingQuestion {
  readonly spoken: SpokenOperation;
  /** The changes of the body beside those for guards, for the provider and for carriers. */
  readonly edits: readonly JsonEdit[];
  /** Set where the gateway sets marks of the prompt cache. */
  readonly cacheMarks?: CacheMarks;
}

/**
 * A request as a target is sent it, with what was learned when it was written. The thread of long bodies has signed it, and
 * gives it as bytes; what the serving thread has written is signed when it is sent.
 */
export interface EncodedForTarget extends EncodedRequest {
  /** Whether carriers of reasoning were not opened, and so are not sent. */
  readonly leavesReasoning?: boolean;
  /** The pieces of the prompt, where they are asked for; null where the request does not tell all of it. */
  readonly prompt?: NumberedPrompt | null;
  /** The texts that the target reads as one each, although they are made of several, where guards search them. */
  readonly joined?: readonly JoinedText[];
}

export interface EncodeQuestion extends EncodingQuestion {
  readonly outline: RequestOutline;
  /** The files that replace addresses; `null` when there are none. */
  readonly fill: number | null;
  /** The inputs of a task that are written; `null` for all. */
  readonly part: TaskPart | null;
}

interface Held extends HeldRequest {
  /** The member that names what was found; `null` where nothing was. */
  readonly returnsFrom: ReturningMember | null;
  /** `null` when no guard searches it. */
  search: HeldGuardSearch | null;
  /** The files of each attempt that needs some. */
  readonly fills: Map<number, Pick<FillQuestion, "places" | "fetched">>;
}
/** Allows for an attempt and its hedge, and for earlier ones that may still be in flight. */
const MAX_FILLS = 4;

type RequestForms = ReadonlyMap<OperationName, RequestForm>;

/** The work of this thread; it holds long requests by the number of their conversation. */
class LongBodies {
  readonly #forms: RequestForms;
  readonly #held = new Map<number, Held>();
  /** The bodies that name something, until it is found. */
  readonly #texts = new Map<number, string>();

  constructor(forms: RequestForms) {
    this.#forms = forms;
  }

  /** Returns null where it names nothing. */
  names({ conversation, operation, bytes, bounds }: NamesQuestion): unknown {
    const text = bodyText(bytes);
    this.#texts.set(conversation, text);
    return this.#forms.get(operation)!.keeping!.namedIn(text, bounds);
  }

  open({ conversation, operation, bytes, bounds, kept, maxOutlineCharacters }: OpenQuestion): Opened {
    const text = bytes === null ? this.#texts.get(conversation)! : bodyText(bytes);
    this.#texts.delete(conversation);
    const form = this.#forms.get(operation)!;
    const parsed = (kept === null ? form : form.keeping!.formWith(kept.found)).parse(text, bounds);
    const request = parsed.written === undefined ? parsed : { ...parsed, written: withItemsInPlace(parsed.written) };
    const outline = textWithoutConversation(request.source, maxOutlineCharacters);
    const returnsFrom = parsed.written === undefined ? null : returningMember(parsed.written);
    this.#held.set(conversation, { request, returnsFrom, members: outline.members, search: null, fills: new Map() });
    return {
      outline: outline.text,
      held: heldFigures(request, conversation, outline.members),
      unanswered: unansweredText(request, maxOutlineCharacters),
      blocks: request.blocks,
      vendorForms: request.vendorForms.filter(({ path }) => path.startsWith("messages")),
      toolImages: request.toolImages,
      legacyFunctions: request.options.legacyFunctions,
      isRewritten: request.source.rewritten.has("messages"),
      written: parsed.written === undefined ? null : withoutBody(parsed.written, operation),
    };
  }

  async encodeNative({
    conversation,
    spoken,
    edits,
    masks,
    opening,
    cacheMarks,
    target,
    nowMs,
    tellsPrompt,
  }: EncodeNativeQuestion): Promise<EncodedForTarget> {
    const provider = providers.get(target.family)!;
    const { request, search, returnsFrom } = this.#heldOf(conversation);
    const written = request.written!;
    const masked = masks.length === 0 ? [] : search!.maskedWritten(masks);
    const native = provider.native!(spoken.operation, target.model, spoken.circumstance)!;
    const opened =
      opening === null
        ? []
        : openedEdits(written.body, native, opening, (item) => requireReasoning(item, returnsFrom, opening.place));
    const sent = {
      ...request,
      written: {
        ...written,
        spoken,
        edits: [...masked, ...edits, ...opened],
        ...(cacheMarks !== undefined && { cacheMarks }),
      },
    };
    const bytes = await signedBytes(native.encodeRequest(withMarkEdits(sent, native), target), provider, target, nowMs);
    return { ...bytes, ...(tellsPrompt && { prompt: promptPieces(sent) }), leavesReasoning: leavesAny(opened) };
  }

  async encode({
    conversation,
    outline,
    masks,
    fill,
    opening,
    target,
    nowMs,
    part,
    tellsPrompt,
  }: EncodeQuestion): Promise<EncodedForTarget> {
    const one = this.#heldOf(conversation);
    const guarded = masks.length === 0 ? one : one.search!.masked(masks);
    const joined = withConversation(outline, guarded);
    const provider = providerFor(joined, target);
    const opened = opening === null ? null : openedMessages(joined.messages, opening);
    const whole = opened === null ? joined : withMembers(joined, { messages: opened.messages });
    const fitted =
      whole.form.task === undefined
        ? fitConversation(withToolImages(whole, provider, target), provider.conversation(target))
        : { request: whole, left: [] };
    const files = fill === null ? undefined : one.fills.get(fill)!;
    const request = files === undefined ? fitted.request : withContent(fitted.request, files.places, files.fetched);
    const encoded = encodedRequest(request, provider, target, part);
    return {
      ...(await signedBytes(encoded, provider, target, nowMs)),
      joined: one.search === null ? [] : joinedTexts(request, provider, target),
      ...(tellsPrompt && { prompt: promptPieces(request) }),
      leavesReasoning: opened?.isWhole === false,
      left: [...fitted.left, ...(encoded.left ?? [])],
    };
  }

  fill({ conversation, fill: name, places, fetched }: FillQuestion): void {
    const { fills } = this.#heldOf(conversation);
    fills.set(name, { places, fetched });
    for (const known of fills.keys()) if (fills.size > MAX_FILLS) fills.delete(known);
  }

  /** Returns the places in the conversation as the model receives it. */
  places({ conversation, family, model }: PlacesQuestion): readonly ContentPlace[] {
    const provider = providers.get(family)!;
    return placesToFetch(withToolImages(this.#heldOf(conversation).request, provider, { model }), provider, model);
  }

  cut({ conversation, characters }: CutQuestion): CutMessages {
    const { kept, ...fitting } = cutWithMargin(this.#heldOf(conversation).request.messages, characters);
    return { ...fitting, kept: JSON.stringify(kept) };
  }

  texts(conversation: number): PackedTexts {
    const one = this.#heldOf(conversation);
    one.search = new HeldGuardSearch(one);
    return one.search.packed();
  }

  found({ conversation, guards, matches }: FoundQuestion): readonly number[] {
    return this.#heldOf(conversation).search!.found(guards, matches);
  }

  findings({ conversation, place, where }: FindingsQuestion): readonly HeldFinding[] {
    return this.#heldOf(conversation).search!.findingsOf(place, where);
  }

  #heldOf(conversation: number): Held {
    const one = this.#held.get(conversation);
    if (one === undefined)
      throw new GatewayError("internal_error", "The gateway failed while it handled this request.", {
        detail: "the thread of long requests does not hold this conversation",
      });
    return one;
  }

  release(conversation: number): void {
    this.#held.delete(conversation);
    this.#texts.delete(conversation);
  }

  /** What the sandbox needs of a long request to it. */
  read(body: Uint8Array): SandboxReading {
    return readingOf(decodeUtf8(body));
  }

  decodeTask(question: TaskQuestion): TaskAnswer<unknown> {
    return decodedTask(question, providers.get(question.family)!);
  }
}

function providerFor({ form }: ChatRequest, { family, model, isAskedOtherwise }: Target): Provider {
  const provider = providers.get(family)!;
  if (form.rawPrompts !== undefined) return answeringPrompts(provider, model);
  return isAskedOtherwise === true ? provider.otherwise!.provider : provider;
}

async function signedBytes(
  encoded: EncodedRequest,
  provider: Provider,
  target: Target,
  nowMs: number,
): Promise<EncodedRequest> {
  const signed = await provider.sign(encoded.request, target.credential, { nowMs, settings: target.settings });
  return { ...encoded, request: { ...signed, body: "", bytes: new TextEncoder().encode(signed.body) } };
}

/** Returns the body as its client could have written it without a name: with the items themselves in their place. */
function withItemsInPlace(written: WrittenRequest): WrittenRequest {
  const { replaced, text, body, ...others } = written;
  if (replaced === undefined) return written;
  const edits = memberEdits(replaced);
  return { ...others, text: editedJson(text, edits), body: withEdits(body, edits) };
}

/** The items stand in the body that is held. */
function removedMembers(replaced: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(replaced).filter(([, value]) => value === undefined));
}

/** Returns what the serving thread gets of a body in the form of another operation than chat completions. */
function withoutBody(written: WrittenRequest, operation: OperationName): WrittenRequest {
  const form = nativeFormOf(operation);
  return {
    ...written,
    text: "",
    body: {},
    ...(written.replaced !== undefined && { replaced: removedMembers(written.replaced) }),
    ...(form !== null && { held: heldBody(written, form) }),
  };
}

/** The methods of this thread. What they throw is passed on to the thread that asked. */
export type LongBodyMethods = Pick<LongBodies, keyof LongBodies>;

/** The bytes of replies that are transferred instead of copied. */
const TRANSFERRED: { readonly [Name in keyof LongBodyMethods]?: (reply: never) => Uint8Array | undefined } = {
  encode: ({ request }: EncodedForTarget) => request.bytes,
  encodeNative: ({ request }: EncodedForTarget) => request.bytes,
  texts: ({ bytes }: PackedTexts) => bytes,
};

async function answer({ id, method, args: [question] }: ThreadRequest, held: LongBodies): Promise<void> {
  const name = method as keyof LongBodyMethods;
  const reply = (result: unknown, bytes?: Uint8Array): void => {
    if (id === 0) return;
    const transfer = bytes === undefined ? [] : [bytes.buffer as ArrayBuffer];
    parentPort!.postMessage({ id, result } satisfies ThreadReply, transfer);
  };
  try {
    const result = sendable(await held[name](received(question) as never));
    reply(result, TRANSFERRED[name]?.(result as never));
  } catch (thrown) {
    reply({ thrown: transferableError(thrown) });
  }
}

/** Answers the questions of the thread that started this one. */
export function serveLongBodies(forms: RequestForms): void {
  const held = new LongBodies(forms);
  parentPort!.on("message", (request: ThreadRequest) => void answer(request, held));
}
