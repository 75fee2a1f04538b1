// The program of a thread that answers people's questions (question-thread.ts): each question may run beside others. The
// database is opened with the first question that needs it, and again where that failed.
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { loadedOnce } from "../../core/concurrency/loaded-once.ts";
import type { ThreadRequest } from "../../wire/request-thread.ts";
import type { DatabasePlace } from "./database.ts";
import { reply } from "./database-thread.ts";
import type { QuestionSetup } from "./question-thread.ts";

/** Where processors are scarce, calls come first. */
const NICE = 10;

/** Does nothing where it is not the program of a thread. */
export function answerQuestions<Reads>(
  open: (place: DatabasePlace) => Promise<Reads>,
  answerFrom: (reads: () => Promise<Reads>) => (request: ThreadRequest) => Promise<unknown>,
): void {
  const port = parentPort;
  if (port === null) return;
  // on Linux, a thread has a priority of its own; https://man7.org/linux/man-pages/man2/setpriority.2.html
  if (process.platform === "linux") setPriority(NICE);
  const { place } = workerData as QuestionSetup;
  const answer = answerFrom(loadedOnce(() => open(place)));
  port.on("message", (request: ThreadRequest) => void reply(port, request, () => answer(request)));
}
