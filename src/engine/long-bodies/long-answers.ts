// Long non-streaming answers, as the thread that serves calls sees them (promise 5.8). The provider's bytes are handed
// to the thread of long bodies, which returns the client's bytes, or a value whose long texts are passed as memory.
import { type Matches, sentGuard } from "../../guards/guard-search.ts";
import type { PackedTexts } from "../../guards/packed-texts.ts";
import type { ChatAnswer } from "../../core/chat.ts";
import type { GuardPolicy } from "../../core/policy.ts";
import type { TaskAnswer } from "../../providers/provider.ts";
import type { TaskQuestion } from "./decoded-task.ts";
import { type LongBodyThread, ownMemory } from "./long-body-thread.ts";
import { unpackJson } from "./long-texts.ts";
import type { EditedBytes, EditQuestion, PassedAnswer } from "./passed-there.ts";
import type {
  AnswerQuestion,
  AnswerWithBody,
  CheckedAnswer,
  DecodeQuestion,
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
  /** Returns the values of a task. */
  decodeTask(question: TaskQuestion, tenantId: string): Promise<TaskAnswer<unknown>>;
  /** Returns the body that the client receives. */
  write(question: AnswerQuestion, tenantId: string): Promise<AnswerWithBody>;
  /** Reads an answer in the form of the operation, which that form completes before it is passed on. */
  pass(question: AnswerQuestion, tenantId: string): Promise<PassedAnswer>;
  /** Completes such an answer. */
  edit(question: EditQuestion, tenantId: string): Promise<EditedBytes>;
  /** Reads an answer whose body is written after guards have searched it. */
  gather(question: AnswerQuestion, guards: readonly GuardPolicy[], tenantId: string): Promise<AnswerToSearch>;
}

export function openLongAnswers(thread: LongBodyThread): LongAnswers {
  let last = 0;
  const askAbout = <M extends "check" | "decode">(tenantId: string, method: M, question: DecodeQuestion) => {
    const bytes = ownMemory(question.bytes);
    return thread.ask<M>(tenantId, method, { ...question, bytes }, [bytes.buffer as ArrayBuffer]);
  };
  const withOwnMemory = <Q extends AnswerQuestion>(
    question: Q,
  ): { readonly own: Q; readonly memory: ArrayBuffer[] } => {
    const answers = question.answers.map((one) => ({ ...one, bytes: ownMemory(one.bytes) }));
    return { own: { ...question, answers }, memory: answers.map(({ bytes }) => bytes.buffer as ArrayBuffer) };
  };
  return {
    check: (question, tenantId) => askAbout(tenantId, "check", question),
    async decode(question, tenantId) {
      return (await unpackJson(await askAbout(tenantId, "decode", question))) as unknown as ChatAnswer;
    },
    decodeTask(question, tenantId) {
      const bytes = ownMemory(question.bytes);
      return thread.ask(tenantId, "decode_task", { ...question, bytes }, [bytes.buffer as ArrayBuffer]);
    },
    write(question, tenantId) {
      const { own, memory } = withOwnMemory(question);
      return thread.ask(tenantId, "write", own, memory);
    },
    pass(question, tenantId) {
      const { own, memory } = withOwnMemory(question);
      return thread.ask(tenantId, "pass", own, memory);
    },
    edit: (question, tenantId) => thread.ask(tenantId, "edit", question, [question.bytes.buffer as ArrayBuffer]),
    async gather(question, guards, tenantId) {
      const answer = ++last;
      const { own, memory } = withOwnMemory({ ...question, answer, guards: guards.map(sentGuard) });
      const { texts, ...read } = await thread.ask(tenantId, "gather", own, memory);
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
          return thread.ask(
            tenantId,
            "write_gathered",
            { answer, matches },
            matches === null ? [] : [matches.numbers.buffer as ArrayBuffer],
          );
        },
      };
    },
  };
}
