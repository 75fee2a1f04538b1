// A provider's whole answer as bytes -> what the client gets as bytes, and figures about it: what the thread of long bodies does with a plain answer (decisions 5.8).
import { estimatedUsage } from "../accounting/estimate.ts";
import type { Credential } from "../core/target.ts";
import { type DecodeContext, MalformedAnswer, type Provider } from "../providers/provider.ts";
import { utf8Of } from "../wire/body-bytes.ts";
import { answerWithoutKeys } from "./answer-keys.ts";
import { type AnswerFigures, type AnswerFrame, wholeAnswer } from "./whole-answer.ts";

export interface AnswerQuestion {
  readonly bytes: Uint8Array;
  /** The id of the provider's implementation. */
  readonly family: string;
  readonly decode: DecodeContext;
  /** What may have been repeated in the answer. */
  readonly credential: Credential | null;
  readonly frame: AnswerFrame;
  /** Of the conversation, for an answer without figures. */
  readonly promptTokens: number;
}

export interface WrittenAnswer extends AnswerFigures {
  /** The body that the client gets. */
  readonly bytes: Uint8Array;
  /** Of what the provider calls the model that answered, as much as could be a name; null: nothing. */
  readonly model: string | null;
}

/** Longer is no name of a model. */
const MAX_MODEL = 1024;

/** Throws StreamError, MalformedAnswer. */
export function writtenAnswer(
  { bytes, decode, credential, frame, promptTokens }: AnswerQuestion,
  provider: Provider,
): WrittenAnswer {
  const answer = provider.decodeResponse(answerWithoutKeys(utf8Of(bytes), credential), decode);
  if (answer.choices.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
  const { model } = answer;
  const { body, ...figures } = wholeAnswer(answer, frame, (generated) => estimatedUsage(promptTokens, generated));
  return {
    ...figures,
    bytes: new TextEncoder().encode(JSON.stringify(body)),
    model: typeof model === "string" && model.length <= MAX_MODEL ? model : null,
  };
}
