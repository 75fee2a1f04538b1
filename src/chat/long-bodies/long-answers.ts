// Long non-streaming answers, as the thread that serves calls sees them (promise 5.8). The provider's bytes are handed
// to the thread of long bodies, which returns the client's bytes, or a value whose long texts are passed as memory.
import { type Matches, sentGuard } from "../../guards/guard-search.ts";
import type { GuardPolicy } from "../../guards/guarded-text.ts";
import type { PackedTexts } from "../../guards/packed-texts.ts";
import type { ChatAnswer } from "../../core/chat.ts";
import { type LongBodyThread, ownMemory } from "./long-body-thread.ts";
import { type PackedJson, unpackJson } from "./long-texts.ts";
import type {
  AnswerFoundQuestion,
  AnswerQuestion,
  AnswerWithBody,
  CheckedAnswer,
  DecodeQuestion,
  GatheredAnswer,
  GatherQuestion,
  ReadAnswer,
  WrittenUnderGuards,
} from "./written-answer.ts";

/** An answer that the other thread holds until guards have searched it. */
export interface AnswerToSearch extends ReadAnswer {
  /**
   * Returns what guards found in the answer, and its body. `search` receives the answer's texts as memory that the
   * serving thread only passes on, and returns null when the guards did not finish in time. Rejects with what `search`
   * rejects with.
   */
  under(search: (texts: PackedTexts) => Promise<Matches | null>): Promise<WrittenUnderGuards>;
  /** Lets the other thread drop the answer, which will not be searched. */
  release(): void;
}

/**
 * The bytes of each question are transferred to the other thread, and are empty afterwards. Each method throws what a
 * decoder throws.
 */
export interface LongAnswers {
  /** Checks that an answer can be read, and returns its bytes. */
  check(question: DecodeQuestion, tenantId: string): Promise<CheckedAnswer>;
  /** Returns the value of an answer that the client receives as a stream. */
  decode(question: DecodeQuestion, tenantId: string): Promise<ChatAnswer>;
  /** Returns the body that the client receives. */
  write(question: AnswerQuestion, tenantId: string): Promise<AnswerWithBody>;
  /** Reads an answer whose body is written after guards have searched it. */
  gather(question: AnswerQuestion, guards: readonly GuardPolicy[], tenantId: string): Promise<AnswerToSearch>;
}

export function openLongAnswers(thread: LongBodyThread): LongAnswers {
  let last = 0;
  const askAbout = <T extends object>(tenantId: string, method: string, question: DecodeQuestion): Promise<T> => {
    const bytes = ownMemory(question.bytes);
    return thread.ask<T>(tenantId, method, { ...question, bytes }, [bytes.buffer as ArrayBuffer]);
  };
  const askAboutAll = <T extends object>(tenantId: string, method: string, question: AnswerQuestion): Promise<T> => {
    const answers = question.answers.map((one) => ({ ...one, bytes: ownMemory(one.bytes) }));
    const memory = answers.map(({ bytes }) => bytes.buffer as ArrayBuffer);
    return thread.ask<T>(tenantId, method, { ...question, answers }, memory);
  };
  return {
    check: (question, tenantId) => askAbout(tenantId, "check", question),
    async decode(question, tenantId) {
      return (await unpackJson(await askAbout<PackedJson>(tenantId, "decode", question))) as unknown as ChatAnswer;
    },
    write: (question, tenantId) => askAboutAll(tenantId, "write", question),
    async gather(question, guards, tenantId) {
      const answer = ++last;
      const gatherQuestion: GatherQuestion = { ...question, answer, guards: guards.map(sentGuard) };
      const { texts, ...read } = await askAboutAll<GatheredAnswer>(tenantId, "gather", gatherQuestion);
      const release = (): void => thread.send("release_gathered", answer);
      return {
        ...read,
        release,
        async under(search) {
          let matches: Matches | null;
          try {
            matches = await search(texts);
          } catch (thrown) {
            release();
            throw thrown;
          }
          return thread.ask<WrittenUnderGuards>(
            tenantId,
            "write_gathered",
            { answer, matches } satisfies AnswerFoundQuestion,
            matches === null ? [] : [matches.numbers.buffer as ArrayBuffer],
          );
        },
      };
    },
  };
}
