// Long answers to tasks, as the thread that serves calls sees them (promise 5.8). The provider's bytes are handed to the
// thread of long bodies: a million numbers are one parse of some 100 ms, which cannot be interrupted.
import type { TaskAnswer } from "../../providers/interface/task-form.ts";
import type { TaskQuestion } from "./decoded-task.ts";
import { type LongBodyThread, ownMemory } from "./long-body-thread.ts";

export interface LongTasks {
  /**
   * Returns the values of a task. The bytes of the question are transferred to the other thread, and are empty
   * afterwards. Throws what a decoder throws.
   */
  decode(question: TaskQuestion, tenantId: string): Promise<TaskAnswer<unknown>>;
}

export function openLongTasks(thread: LongBodyThread): LongTasks {
  return {
    decode(question, tenantId) {
      const bytes = ownMemory(question.bytes);
      return thread.ask(tenantId, "decodeTask", { ...question, bytes }, [bytes.buffer as ArrayBuffer]);
    },
  };
}
