// Decodes the events of streamGenerateContent?alt=sse into chunks. Each event is a GenerateContentResponse that holds
// only new parts, while its usage is cumulative.
// https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
import type { ChatChunk, ChunkChoice, ChunkDelta, ToolCallDelta } from "../../core/chat.ts";
import { type JsonObject } from "../../core/json.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { NO_CHUNKS, type StreamDecoder } from "../interface/stream-decoder.ts";
import { MalformedAnswer } from "../interface/upstream-failure.ts";
import { closeCall, joinCalls, type OpenCall } from "./call-pieces.ts";
import { citationsOf, TextPositions } from "./citations.ts";
import {
  audioId,
  averageLogprobs,
  blockReasonOf,
  candidatesOf,
  finishMessage,
  identityOf,
  partsOf,
  readFrame,
  refusalNotes,
  renamedOf,
  safetyRatings,
} from "./decode-answer.ts";
import { decodeLogprobs } from "./decode-logprobs.ts";
import { keepBeside, type DecodedParts, decodeParts } from "./decode-parts.ts";
import { billedSearches, decodeServiceTier, decodeUsage, queriesOf, withSearches } from "./decode-usage.ts";
import type { RenamedFunctions } from "./encode-tools.ts";
import { finishReason, nativeFinish } from "./finish-reasons.ts";
import { parseEvent } from "../answers/sent-json.ts";
import type { SseEvent } from "../../wire/sse.ts";

/** The state of one choice so far. */
interface Candidate {
  readonly callIds: Set<string>;
  readonly text: TextPositions;
  /** The citations that events told of, as JSON. */
  readonly cited: Set<string>;
  citedCharacters: number;
  readonly call: { open: OpenCall | null };
  /** The most recent finish reason. Old servers send STOP on every event, and the true reason on the last one. */
  finish: string | null;
  finishMessage: ReturnType<typeof finishMessage>;
  average: ReturnType<typeof averageLogprobs>;
  /** The most recent safety ratings. */
  ratings: ReturnType<typeof safetyRatings>;
  /** The most searches that an event told of for it: each event may repeat what earlier ones had. */
  queries: number;
  /** Whether the prompt was refused, so that there is only a reason. */
  blocked: boolean;
}

interface Stream {
  readonly renamed: RenamedFunctions;
  readonly candidates: Map<number, Candidate>;
  identity: ReturnType<typeof identityOf>;
  /** The tier that served, under OpenAI's name. */
  tier: string | null;
  readonly model: string;
  /** How often Google has searched so far, for all choices. */
  queries: number;
}

export function openStream(context: DecodeContext): StreamDecoder {
  const stream: Stream = {
    renamed: renamedOf(context.memo),
    candidates: new Map(),
    identity: {},
    tier: null,
    model: context.model,
    queries: 0,
  };
  return { push: (event) => pushEvent(stream, event), end: () => endOf(stream) };
}

/** As many choices as a request may ask for. */
const MAX_CANDIDATES = 128;

/** Throws MalformedAnswer. */
function candidateAt(stream: Stream, index: number): Candidate {
  const known = stream.candidates.get(index);
  if (known !== undefined) return known;
  if (stream.candidates.size >= MAX_CANDIDATES)
    throw new MalformedAnswer(`The provider's answer has more than ${MAX_CANDIDATES} candidates.`);
  const fresh: Candidate = {
    callIds: new Set(),
    text: new TextPositions(),
    cited: new Set(),
    citedCharacters: 0,
    call: { open: null },
    finish: null,
    finishMessage: {},
    average: {},
    ratings: {},
    queries: 0,
    blocked: false,
  };
  stream.candidates.set(index, fresh);
  return fresh;
}

function pushEvent(stream: Stream, event: SseEvent): readonly ChatChunk[] {
  const { data } = event;
  if (data === "[DONE]") return NO_CHUNKS; // Google does not send this, but proxies add it.
  const frame = readFrame(data, parseEvent(event));
  if (stream.identity.id === undefined) stream.identity = identityOf(frame);
  const list = candidatesOf(frame);
  const choices: ChunkChoice[] = [];
  for (let position = 0; position < list.length; position++) {
    const choice = pushCandidate(stream, list[position]!, position);
    if (choice !== null) choices.push(choice);
  }
  if (list.length === 0) refusePrompt(stream, frame);
  const usage = withSearches(decodeUsage(frame["usageMetadata"]), billedSearches(stream.queries, stream.model));
  if (usage !== null) stream.tier = decodeServiceTier(frame["usageMetadata"]) ?? stream.tier;
  if (choices.length === 0 && usage === null) return NO_CHUNKS;
  return [usage === null ? { ...stream.identity, choices } : { ...stream.identity, choices, usage }];
}

/** `null` when the event adds nothing to the choice, or only its finish reason, which end() emits. */
function pushCandidate(stream: Stream, candidate: JsonObject, position: number): ChunkChoice | null {
  const index = typeof candidate["index"] === "number" ? candidate["index"] : position;
  const known = candidateAt(stream, index);
  const native = nativeFinish(candidate["finishReason"]);
  if (native !== null) {
    known.finish = native;
    known.finishMessage = finishMessage(candidate);
  }
  known.average = { ...known.average, ...averageLogprobs(candidate) };
  known.ratings = { ...known.ratings, ...safetyRatings(candidate) };
  const queries = Math.max(known.queries, queriesOf(candidate));
  stream.queries += queries - known.queries;
  known.queries = queries;
  const firstCall = known.callIds.size;
  const joined = joinCalls(partsOf(candidate), known.call);
  const parts = decodeParts(
    native === null ? joined : [...joined, ...closeCall(known.call)],
    known.callIds,
    stream.renamed,
  );
  if (parts.content !== undefined) known.text.append(parts.content);
  keepBeside(parts, candidate);
  const annotations = newCitations(citationsOf(candidate, known.text, null), known);
  const delta = deltaOf(parts, firstCall, audioId(stream.identity.id, index), annotations);
  const logprobs = decodeLogprobs(candidate["logprobsResult"]);
  if (logprobs !== null) return { index, delta, logprobs };
  return Object.keys(delta).length > 0 ? { index, delta } : null;
}

/** The most citations of a choice that are remembered. */
const MAX_CITED = 10_000;
const MAX_CITED_CHARACTERS = 4 * 1024 * 1024;

/**
 * Returns those that no earlier event told of, because events repeat what was found so far:
 * https://github.com/vercel/ai/pull/7226, https://github.com/langchain-ai/langchainjs/pull/11456
 */
function newCitations(citations: readonly JsonObject[], known: Candidate): readonly JsonObject[] {
  if (citations.length === 0) return citations;
  const told = citations.map((citation) => JSON.stringify(citation));
  const { cited } = known;
  const fresh = citations.filter((_, at) => !cited.has(told[at]!));
  for (const one of told) {
    if (cited.has(one) || cited.size >= MAX_CITED || known.citedCharacters + one.length > MAX_CITED_CHARACTERS)
      continue;
    cited.add(one);
    known.citedCharacters += one.length;
  }
  return fresh;
}

function refusePrompt(stream: Stream, frame: JsonObject): void {
  const reason = blockReasonOf(frame);
  if (reason === null) return;
  const known = candidateAt(stream, 0);
  known.finish = reason;
  const { native_finish_message: message, ...ratings } = refusalNotes(frame);
  known.finishMessage = message === undefined ? {} : { native_finish_message: message };
  known.ratings = ratings;
  known.blocked = true;
}

function endOf(stream: Stream): readonly ChatChunk[] {
  const choices: ChunkChoice[] = [];
  for (const [index, { finish, finishMessage: message, average, ratings, blocked, callIds }] of stream.candidates) {
    if (finish === null) continue;
    choices.push({
      index,
      delta: {},
      finish_reason: blocked ? "content_filter" : finishReason(finish, callIds.size > 0),
      native_finish_reason: finish,
      ...message,
      ...average,
      ...ratings,
    });
  }
  return choices.length === 0
    ? NO_CHUNKS
    : [{ ...stream.identity, choices, ...(stream.tier !== null && { service_tier: stream.tier }) }];
}

/** Each tool call is complete within one event. */
function deltaOf(
  parts: DecodedParts,
  firstCall: number,
  soundId: string,
  annotations: readonly JsonObject[],
): ChunkDelta {
  const { tool_calls: calls, audio } = parts;
  if (calls === undefined && audio === undefined && annotations.length === 0) return parts;
  return {
    ...parts,
    ...(calls !== undefined && {
      tool_calls: calls.map((call, offset): ToolCallDelta => ({ index: firstCall + offset, ...call })),
    }),
    ...(audio !== undefined && { audio: { id: soundId, ...audio } }),
    ...(annotations.length > 0 && { annotations }),
  };
}
