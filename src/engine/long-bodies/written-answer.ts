// Translates a provider's non-streaming answer from bytes to the bytes that the client receives, with figures about it.
// The thread for long bodies does this with non-streaming answers (promise 5.8).
import { estimatedUsage } from "../../accounting/estimate.ts";
import type { Matches, SentGuard } from "../../guards/guard-search.ts";
import type { PackedTexts } from "../../guards/packed-texts.ts";
import type { ChatAnswer, SpokenOperation, Usage } from "../../core/chat.ts";
import type { Json } from "../../core/json.ts";
import type { Credential } from "../../core/target.ts";
import { type DecodeContext, MalformedAnswer, type Provider } from "../../providers/provider.ts";
import { providers } from "../../providers/registry.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import { answerWithoutKeys } from "../answer/answer-keys.ts";
import { joinedAnswer, type JoinedFigures } from "../answer/joined-answer.ts";
import { answeringPrompts } from "../fit/raw-prompts.ts";
import { AnswerGuardSearch, type GuardedAnswer } from "../guards/guard-long-answer.ts";
import { keptAnswer } from "../content/kept-answer.ts";
import { requireReadable } from "./long-events.ts";
import { type PackedJson, packJson } from "./long-texts.ts";
import { strictUsage } from "../answer/strict-fields.ts";
import type { AnswerFrame, NonStreamingAnswer } from "../answer/non-streaming-answer.ts";

/** One answer of a provider, as it arrived. */
export interface AnswerBytes {
  readonly bytes: Uint8Array;
  readonly decode: DecodeContext;
}

/** What is needed to read the answers of one target. */
export interface AnswerReading {
  /** The id of the provider's implementation. */
  readonly family: string;
  /** Set where the target speaks the operation of the call, and answers in its form. */
  readonly spoken?: SpokenOperation;
  /** The credential that the answer may have repeated. */
  readonly credential: Credential | null;
}

export type DecodeQuestion = AnswerReading & AnswerBytes;

/** An answer that can be read. */
export interface CheckedAnswer {
  /** The bytes that were checked. */
  readonly bytes: Uint8Array;
  /** The provider's figures; `null` when it reported none. */
  readonly usage: Usage | null;
}

export interface AnswerQuestion extends AnswerReading {
  /** There are several where each choice is an upstream request of its own. */
  readonly answers: readonly AnswerBytes[];
  readonly frame: AnswerFrame;
  /** The tokens of the conversation, for an answer without figures. */
  readonly promptTokens: number;
  /** The serving thread continues with the body as a value. */
  readonly asValue: boolean;
  /** The number of the answer's characters that the project still keeps; `null` when nothing is kept. */
  readonly keeps: number | null;
}

/** Asks for an answer that is held until guards have searched its texts. */
export interface GatherQuestion extends AnswerQuestion {
  readonly answer: number;
  readonly guards: readonly SentGuard[];
}

/** Passes on what guards have found in the texts of an answer. */
export interface AnswerFoundQuestion {
  readonly answer: number;
  /** `null` when the search did not come to an end. */
  readonly matches: Matches | null;
}

/** The body that the client receives, as bytes. */
export interface WrittenBody {
  readonly bytes: Uint8Array;
  /** The JSON of what the recorder of content receives; `null` when nothing is kept. */
  readonly kept: string | null;
}

/** The same as a value, which the serving thread unpacks. */
export interface PackedBody {
  readonly packed: PackedJson;
}

export type AnswerBody = WrittenBody | PackedBody;

export interface ReadAnswer extends JoinedFigures {
  /** The model that answered, as the provider reports it, if it can be a name; `null` otherwise. */
  readonly model: string | null;
}

export interface AnswerWithBody extends ReadAnswer {
  readonly body: AnswerBody;
}

export interface GatheredAnswer extends ReadAnswer {
  readonly texts: PackedTexts;
}

export type WrittenUnderGuards = GuardedAnswer<{ readonly body: AnswerBody }>;

/** A longer text is not the name of a model. */
const MAX_MODEL = 1024;

/** What reads the answers of a provider. */
type AnswerReader = Pick<Provider, "decodeResponse">;

export function readerOf({ family, spoken }: AnswerReading, { model, isRaw }: DecodeContext): AnswerReader {
  const provider = providers.get(family)!;
  if (isRaw === true) return answeringPrompts(provider, model);
  return spoken === undefined ? provider : provider.native!(spoken.operation, model, spoken.circumstance)!;
}

/** Throws StreamError or MalformedAnswer. */
export function decodedAnswer({ bytes, decode, credential }: DecodeQuestion, provider: AnswerReader): ChatAnswer {
  const answer = provider.decodeResponse(answerWithoutKeys(decodeUtf8(bytes), credential), decode);
  // among other answers, its absence would go unnoticed
  if (answer.choices.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
  return answer;
}

/** Throws StreamError or MalformedAnswer. */
export function checkedAnswer(question: DecodeQuestion, provider: AnswerReader): CheckedAnswer {
  return { bytes: question.bytes, usage: strictUsage(decodedAnswer(question, provider).usage) };
}

/** Reads an answer that is sent as events of a stream, within their bounds. Throws StreamError or MalformedAnswer. */
export function packedAnswer(question: DecodeQuestion, provider: AnswerReader): PackedJson {
  return readablePack(decodedAnswer(question, provider));
}

/** Packs a value that the serving thread goes on with. Throws MalformedAnswer where it cannot do so in its turns. */
function readablePack(value: Json): PackedJson {
  const packed = packJson(value);
  requireReadable(packed.outline);
  return packed;
}

/** Throws StreamError or MalformedAnswer. */
export function writtenAnswer(question: AnswerQuestion, provider: AnswerReader): AnswerWithBody {
  const { answer, read } = readAnswers(question, provider);
  return { ...read, body: writtenBody(answer, question) };
}

/** Answers whose texts guards search in another thread, by the ids of the questions about them. */
export class GatheredAnswers {
  readonly #held = new Map<number, { readonly search: AnswerGuardSearch; readonly form: BodyForm }>();

  /** Throws StreamError or MalformedAnswer. */
  gather(question: GatherQuestion, provider: AnswerReader): GatheredAnswer {
    const { answer, read } = readAnswers(question, provider);
    const search = new AnswerGuardSearch(answer, question.guards);
    const texts = search.packed();
    const { asValue, keeps } = question;
    this.#held.set(question.answer, { search, form: { asValue, keeps } });
    return { ...read, texts };
  }

  written({ answer: id, matches }: AnswerFoundQuestion): WrittenUnderGuards {
    const { search, form } = this.#held.get(id)!;
    this.#held.delete(id);
    const found = search.found(matches);
    if (found.kind === "blocked") return found;
    return { kind: "allowed", findings: found.findings, body: writtenBody(found.answer, form) };
  }

  release(id: number): void {
    this.#held.delete(id);
  }
}

type BodyForm = Pick<AnswerQuestion, "asValue" | "keeps">;

export function readAnswers(
  { answers, frame, promptTokens, ...reading }: AnswerQuestion,
  provider: AnswerReader,
): { readonly answer: NonStreamingAnswer; readonly read: ReadAnswer } {
  const given = answers.map((one) => decodedAnswer({ ...reading, ...one }, provider));
  const answer = joinedAnswer(given, frame, (generated) => estimatedUsage(promptTokens, generated));
  const { body: _body, ...figures } = answer;
  const { model } = given[0]!;
  return {
    answer,
    read: { ...figures, model: typeof model === "string" && model.length <= MAX_MODEL ? model : null },
  };
}

function writtenBody({ body }: NonStreamingAnswer, { asValue, keeps }: BodyForm): AnswerBody {
  if (asValue) return { packed: readablePack(body) };
  return {
    bytes: new TextEncoder().encode(JSON.stringify(body)),
    kept: keeps === null ? null : JSON.stringify(keptAnswer(body, keeps)),
  };
}
