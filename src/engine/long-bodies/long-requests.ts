// Long requests, as the thread that serves calls sees them (promise 5.8). The body is handed unparsed to another
// thread, which returns a request without its conversation, and later the bytes for each target.
import { type Matches, sentGuard } from "../../guards/guard-search.ts";
import type { PackedTexts } from "../../guards/packed-texts.ts";
import { requestOfText } from "../../core/request/request-source.ts";
import type { ServerLimits } from "../../core/snapshot.ts";
import type { ChatRequest, RequestForm, UnansweredCall } from "../../core/chat.ts";
import type { OperationName } from "../../core/operation.ts";
import { type Json, leastJsonLength } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { HeldBytes } from "../call/held-bytes.ts";
import type { Fetched, ContentPlace } from "../attempt/content-places.ts";
import type { HeldFinding } from "../guards/guard-held.ts";
import type { TaskPart } from "../fit/task-parts.ts";
import { outlineOf } from "./held-conversation.ts";
import {
  type LongBodyMethod,
  type LongBodyQuestion,
  type LongBodyReply,
  type LongBodyThread,
  ownMemory,
} from "./long-body-thread.ts";
import type { EncodedForTarget, Opened } from "./long-body-worker.ts";
import { parseBoundedJson } from "../../wire/json/json.ts";
import type { Fitting } from "../content/content-size.ts";

/** Bounds the part of a long request beside its conversation, because that part is parsed in the serving thread. */
export const MAX_OUTLINE_CHARACTERS = 1_048_576;
/**
 * Bounds the bytes of all long requests together, where `server.max_held_bytes` does not bound them further. A request
 * beyond this bound, or beyond the one for its tenant, is refused at once.
 */
const MOST_HELD_BYTES = 1024 * 1_048_576;

type LongRequestLimits = Pick<ServerLimits, "body" | "maxHeldBytes">;

/** The operation that a long request is for. */
export interface LongOperation {
  readonly name: OperationName;
  readonly form: RequestForm;
}

export interface LongRequests {
  /**
   * Returns the request without its conversation, which has to be released in the end. `find` looks up what the body
   * names; it is null where nothing is kept for the caller. Throws what the parser and `find` throw, or
   * `gateway_overloaded`.
   */
  open(
    bytes: Uint8Array,
    limits: LongRequestLimits,
    tenantId: string,
    operation: LongOperation,
    find: ((named: unknown) => Promise<unknown>) | null,
  ): Promise<ChatRequest>;
  /**
   * Returns what guards found in the conversation with the members that are held beside it, and in what the client wrote,
   * each in the order in which the serving thread would have found it. `search` receives the texts as memory that the serving thread only passes on,
   * and returns null when the guards did not finish in time.
   */
  search(
    request: ChatRequest,
    guards: readonly GuardPolicy[],
    search: (texts: PackedTexts) => Promise<Matches | null>,
  ): Promise<HeldFindings>;
  /**
   * Returns the places in the conversation with addresses of files that the model accepts only as bytes. Throws as
   * `placesToFetch` does.
   */
  places(request: ChatRequest, provider: Provider, model: string): Promise<readonly ContentPlace[]>;
  /** Returns the request with the files at their places. Their bytes are transferred, and are empty afterwards. */
  fill(request: ChatRequest, places: readonly ContentPlace[], fetched: readonly Fetched[]): Promise<ChatRequest>;
  /**
   * Returns the last messages that fit into this many characters and the margin of redaction, without their files
   * (content-size.ts).
   */
  lastThatFit(request: ChatRequest, characters: number): Promise<Fitting>;
  /**
   * Returns the request as it is sent to the target, signed; of a task, only the inputs of `part` unless that is null.
   * With `tellsPrompt`, the result has the pieces of the prompt. Throws what the encoder throws.
   */
  encode(
    request: ChatRequest,
    target: Target,
    nowMs: number,
    part: TaskPart | null,
    tellsPrompt: boolean,
  ): Promise<EncodedForTarget>;
  release(request: ChatRequest): void;
}

export interface HeldGuardFinding extends HeldFinding {
  readonly policy: GuardPolicy;
}

export interface HeldFindings {
  readonly conversation: readonly HeldGuardFinding[];
  /** In a body in the form of another operation than chat completions. */
  readonly written: readonly HeldGuardFinding[];
}

export function openLongRequests(thread: LongBodyThread): LongRequests {
  const memory = new HeldBytes(noRoom);
  const held = new Map<number, { readonly bytes: number; readonly tenantId: string }>();
  let last = 0;

  const ask = <M extends LongBodyMethod>(
    id: number,
    method: M,
    question: LongBodyQuestion<M>,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<LongBodyReply<M>> => thread.ask(held.get(id)?.tenantId ?? "", method, question, transfer);
  /** Throws `gateway_overloaded`. */
  const hold = (id: number, tenantId: string, bytes: number, { maxHeldBytes }: LongRequestLimits): void => {
    memory.hold(tenantId, bytes, { maxHeldBytes: Math.min(maxHeldBytes, MOST_HELD_BYTES) });
    held.set(id, { bytes: bytes + (held.get(id)?.bytes ?? 0), tenantId });
  };
  const release = (id: number): void => {
    const one = held.get(id);
    if (one === undefined) return;
    held.delete(id);
    memory.release(one.tenantId, one.bytes);
    thread.send("release", id);
  };

  return {
    async open(bytes, limits, tenantId, { name: operation, form }, find) {
      const id = ++last;
      hold(id, tenantId, bytes.length, limits);
      try {
        const question = {
          conversation: id,
          operation,
          bounds: limits.body,
          maxOutlineCharacters: MAX_OUTLINE_CHARACTERS,
        };
        const transfer = [bytes.buffer as ArrayBuffer];
        if (find === null || !form.keeping!.mayName(bytes)) {
          const kept = find === null ? null : { found: null };
          return withoutConversation(await ask(id, "open", { ...question, bytes, kept }, transfer), form);
        }
        const named = await ask(id, "names", { ...question, bytes }, transfer);
        const found = named === null ? null : await find(named);
        if (found !== null) hold(id, tenantId, leastJsonLength(found as Json, Infinity), limits);
        return withoutConversation(await ask(id, "open", { ...question, bytes: null, kept: { found } }), form);
      } catch (thrown) {
        release(id);
        throw thrown;
      }
    },
    encode(request, target, nowMs, part, tellsPrompt) {
      const { id: conversation } = request.held!;
      const { spoken, edits = [], maskedBy: masks = [], carriers: opening = null, cacheMarks } = request.written ?? {};
      if (spoken !== undefined)
        return ask(conversation, "encodeNative", {
          conversation,
          spoken,
          edits,
          masks,
          opening,
          ...(cacheMarks !== undefined && { cacheMarks }),
          target,
          nowMs,
          tellsPrompt,
        });
      return ask(conversation, "encode", {
        conversation,
        outline: outlineOf(request),
        masks: request.held!.masks ?? [],
        fill: request.held!.fill ?? null,
        opening: request.held!.carriers ?? null,
        target,
        nowMs,
        part,
        tellsPrompt,
      });
    },
    async search(request, guards, search) {
      const { id } = request.held!;
      const matches = await search(await ask(id, "texts", id));
      const places = await ask(
        id,
        "found",
        { conversation: id, guards: guards.map(sentGuard), matches },
        matches === null ? [] : [matches.numbers.buffer as ArrayBuffer],
      );
      const findingsIn = async (where: keyof HeldFindings): Promise<readonly HeldGuardFinding[]> => {
        const all: HeldGuardFinding[] = [];
        // each place means a walk over the conversation, and takes a turn of the tenant
        for (const place of places) {
          const findings = await ask(id, "findings", { conversation: id, place, where });
          for (const one of findings) all.push({ ...one, policy: guards[place]! });
        }
        // the findings of one search are in the order of the guards
        return all.toSorted((one, other) => one.at - other.at);
      };
      return {
        conversation: await findingsIn("conversation"),
        written: request.written === undefined ? [] : await findingsIn("written"),
      };
    },
    places: ({ held: of }, { id: family }, model) => ask(of!.id, "places", { conversation: of!.id, family, model }),
    async fill(request, places, fetched) {
      const own = fetched.map(({ mediaType, bytes }) => ({ mediaType, bytes: ownMemory(bytes) }));
      const { id } = request.held!;
      const fill = ++last;
      await ask(
        id,
        "fill",
        { conversation: id, fill, places, fetched: own },
        own.map(({ bytes }) => bytes.buffer as ArrayBuffer),
      );
      return { ...request, held: { ...request.held!, fill } };
    },
    async lastThatFit({ held: of }, characters) {
      const { kept, ...fitting } = await ask(of!.id, "cut", {
        conversation: of!.id,
        characters,
      });
      return { ...fitting, kept: parseBoundedJson(kept) as readonly Json[] };
    },
    release: (request) => {
      if (request.held !== undefined) release(request.held.id);
    },
  };
}

function noRoom(maxHeldBytes: number): string {
  return `The long requests in flight would hold more than ${maxHeldBytes} bytes, or those of this tenant more than half of that. Try again shortly; up to 1 GiB, the operator can raise server.max_held_bytes.`;
}

/** Returns the request that the serving thread works with. The other thread has validated the whole body. */
function withoutConversation(
  { outline, held, unanswered, blocks, vendorForms, toolImages, legacyFunctions, isRewritten, written }: Opened,
  form: RequestForm,
): ChatRequest {
  const rest = form.parse(outline, null);
  return requestOfText<ChatRequest>({
    ...rest,
    ...(written !== null && { written }),
    messages: [],
    held: { ...held, unanswered: parseBoundedJson(unanswered) as unknown as readonly UnansweredCall[] },
    blocks,
    vendorForms: [...vendorForms, ...rest.vendorForms.filter(({ path }) => !path.startsWith("messages"))],
    toolImages,
    options: { ...rest.options, legacyFunctions },
    source: isRewritten ? { ...rest.source, rewritten: new Set([...rest.source.rewritten, "messages"]) } : rest.source,
  });
}
