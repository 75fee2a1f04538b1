// Translates a provider's non-streaming answer from bytes to the bytes that the client receives, with figures about it.
// The thread for long bodies does this with non-streaming answers (promise 5.8).
import { estimatedUsage } from "../accounting/estimate.ts";
import type { Matches, SentGuard } from "../auth/guard-search.ts";
import type { PackedTexts } from "../auth/packed-texts.ts";
import type { Credential } from "../core/target.ts";
import { type DecodeContext, MalformedAnswer, type Provider } from "../providers/provider.ts";
import { utf8Of } from "../wire/body-bytes.ts";
import { answerWithoutKeys } from "./answer-keys.ts";
import { type AnswerFinding, AnswerLook } from "./guard-long-answer.ts";
import { keptAnswer } from "./kept-answer.ts";
import { type AnswerFigures, type AnswerFrame, type WholeAnswer, wholeAnswer } from "./whole-answer.ts";

export interface AnswerQuestion {
  readonly bytes: Uint8Array;
  /** The id of the provider's implementation. */
  readonly family: string;
  readonly decode: DecodeContext;
  /** The credential that the answer may have repeated. */
  readonly credential: Credential | null;
  readonly frame: AnswerFrame;
  /** The tokens of the conversation, for an answer without figures. */
  readonly promptTokens: number;
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

/** `bytes` is the body that the client receives. */
export interface WrittenBody {
  readonly bytes: Uint8Array;
  /** The JSON of what the content keeper receives; `null` when nothing is kept. */
  readonly kept: string | null;
}

export interface ReadAnswer extends AnswerFigures {
  /** The model that answered, as the provider reports it, if it can be a name; `null` otherwise. */
  readonly model: string | null;
}

export type WrittenAnswer = ReadAnswer & WrittenBody;

export interface GatheredAnswer extends ReadAnswer {
  readonly texts: PackedTexts;
}

export interface WrittenUnderGuards {
  readonly spoke: readonly AnswerFinding[];
  /** `null` when no guard blocks the answer. */
  readonly blocked: AnswerFinding | null;
  /** `null` when the answer is blocked. */
  readonly written: WrittenBody | null;
}

/** A longer text is not the name of a model. */
const MAX_MODEL = 1024;

/** Throws StreamError or MalformedAnswer. */
export function writtenAnswer(question: AnswerQuestion, provider: Provider): WrittenAnswer {
  const { answer, read } = readAnswer(question, provider);
  return { ...read, ...writtenBody(answer, question.keeps) };
}

/** Answers whose texts guards search in another thread, by the ids of the questions about them. */
export class GatheredAnswers {
  readonly #held = new Map<number, { readonly look: AnswerLook; readonly keeps: number | null }>();

  /** Throws StreamError or MalformedAnswer. */
  gather(question: GatherQuestion, provider: Provider): GatheredAnswer {
    const { answer, read } = readAnswer(question, provider);
    const look = new AnswerLook(answer, question.guards);
    const texts = look.packed();
    this.#held.set(question.answer, { look, keeps: question.keeps });
    return { ...read, texts };
  }

  written({ answer: id, matches }: AnswerFoundQuestion): WrittenUnderGuards {
    const { look, keeps } = this.#held.get(id)!;
    this.#held.delete(id);
    const { answer, ...said } = look.found(matches);
    return { ...said, written: said.blocked === null ? writtenBody(answer, keeps) : null };
  }

  release(id: number): void {
    this.#held.delete(id);
  }
}

function readAnswer(
  { bytes, decode, credential, frame, promptTokens }: AnswerQuestion,
  provider: Provider,
): { readonly answer: WholeAnswer; readonly read: ReadAnswer } {
  const given = provider.decodeResponse(answerWithoutKeys(utf8Of(bytes), credential), decode);
  if (given.choices.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
  const answer = wholeAnswer(given, frame, (generated) => estimatedUsage(promptTokens, generated));
  const { body: _body, ...figures } = answer;
  const { model } = given;
  return {
    answer,
    read: { ...figures, model: typeof model === "string" && model.length <= MAX_MODEL ? model : null },
  };
}

function writtenBody({ body }: WholeAnswer, keeps: number | null): WrittenBody {
  return {
    bytes: new TextEncoder().encode(JSON.stringify(body)),
    kept: keeps === null ? null : JSON.stringify(keptAnswer(body, keeps)),
  };
}
