// Legacy completions of the sandbox: each prompt is continued as its model answers a message with the same text.
// https://platform.openai.com/docs/api-reference/completions
import { usageOfText } from "../../core/record/token-count.ts";
import {
  answerOf,
  MAX_CHARACTERS,
  MAX_REPEATED_CHARACTERS,
  promptTokens,
  type SandboxAnswer,
  type SandboxRequest,
} from "./answers.ts";
import { refusalOf } from "./reading.ts";
import { countWords, wordsOf } from "./words.ts";

interface CompletionRequest extends Omit<SandboxRequest, "messages" | "logprobs"> {
  readonly prompt: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  readonly echo?: boolean;
  readonly best_of?: number;
  readonly logprobs?: number;
}

/** What is made of a request: the text of each choice, in the order of their indexes. */
export type SandboxCompletion = ReturnType<typeof completionOf>;

export interface CompletedText {
  /** Repeated before the text; empty where that was not requested. */
  readonly echo: string;
  readonly text: string;
  readonly finish: SandboxAnswer["finish"];
  /** `null` when no log probabilities were requested. */
  readonly logprobs: number | null;
  /** The place of its first character, counted from the beginning of the prompt. */
  readonly at: number;
}

/** The most characters of all choices together where each word has likelihoods of its own. */
const MAX_WITH_LOGPROBS = 65_536;

export function completionOf(body: string) {
  const { prompt, echo, best_of: best, logprobs, ...request } = JSON.parse(body) as CompletionRequest;
  const { n = 1 } = request;
  const refusal = refusalOf(request);
  const prompts = refusal === null ? promptsIn(prompt) : [];
  const count = n * prompts.length;
  const room = Math.floor(((logprobs ?? null) === null ? MAX_CHARACTERS : MAX_WITH_LOGPROBS) / count);
  const asked = prompts.map((content) => {
    const messages = [{ role: "user" as const, content }];
    const answer = answerOf({ ...request, n: count, messages });
    return { content, messages, answer: withinRoom(echo === true ? content : "", answer, room) };
  });
  const choices = asked.flatMap(({ content, answer }) =>
    Array.from({ length: n }, (): CompletedText => ({
      ...answer,
      logprobs: logprobs ?? null,
      at: echo === true ? 0 : content.length,
    })),
  );
  const generated = Math.max(n, best ?? 1);
  const prompted = asked.reduce((sum, { messages }) => sum + promptTokens(messages), 0);
  const completed = asked.reduce((sum, { answer }) => sum + countWords(answer.text).words * generated, 0);
  return {
    model: request.model,
    isStreamed: request.stream === true,
    choices,
    usage: usageOfText(prompted, completed),
    refusal,
  };
}

/** What is cut off ends the choice with `length`, whether it is of the prompt or of the answer. */
function withinRoom(repeated: string, { text, finish }: SandboxAnswer, room: number) {
  const echo = repeated.slice(0, Math.min(room, MAX_REPEATED_CHARACTERS));
  const kept = text.slice(0, room - echo.length);
  const isCut = echo.length < repeated.length || kept.length < text.length;
  return { echo, text: kept, finish: isCut ? "length" : finish } as const;
}

/** Tokens are written as their numbers. */
function promptsIn(prompt: CompletionRequest["prompt"]): readonly string[] {
  if (typeof prompt === "string") return [prompt];
  if (typeof prompt[0] === "number") return [(prompt as readonly number[]).join(" ")];
  return (prompt as readonly (string | readonly number[])[]).map((one) =>
    typeof one === "string" ? one : one.join(" "),
  );
}

/** A piece of a text with its log probabilities in the lists of the form. */
interface Piece {
  readonly text: string;
  readonly logprobs: Lists | null;
}
interface Lists {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
  readonly text_offset: readonly number[];
}

const LOGPROB = -0.5;

export function* piecesOf({ echo, text, logprobs, at }: CompletedText): Generator<Piece> {
  let next = at;
  // nothing comes before the first token of a prompt, so that it has no probability
  let isBare = echo !== "";
  for (const whole of [echo, text])
    for (const token of wordsOf(whole)) {
      const lists = {
        tokens: [token],
        token_logprobs: [isBare ? null : LOGPROB],
        top_logprobs: [isBare ? null : (logprobs ?? 0) === 0 ? {} : { [token]: LOGPROB }],
        text_offset: [next],
      };
      yield { text: token, logprobs: logprobs === null ? null : lists };
      next += token.length;
      isBare = false;
    }
}

/** Returns the text of a choice with all its log probabilities. */
export function wholeText(choice: CompletedText): Piece {
  const text = choice.echo + choice.text;
  if (choice.logprobs === null) return { text, logprobs: null };
  const lists = [...piecesOf(choice)].flatMap(({ logprobs }) => (logprobs === null ? [] : [logprobs]));
  return {
    text,
    logprobs: {
      tokens: lists.flatMap(({ tokens }) => tokens),
      token_logprobs: lists.flatMap(({ token_logprobs: values }) => values),
      top_logprobs: lists.flatMap(({ top_logprobs: tops }) => tops),
      text_offset: lists.flatMap(({ text_offset: places }) => places),
    },
  };
}
