// A thread that answers people's questions about what is stored, so that callers of models do not wait for them: some at
// a time, each within a time limit. It starts with the first question, and ends when it has had none for a while.

// Decides (records and configuration): Where do simulations and long readings of the audit log run, and what bounds
// them? By: `openQuestionThread`. Also: `simulation/simulations.ts` (`openSimulations`), `store/audit/audit-reads.ts`
// (`openAuditReads`). Rule: In a thread each, with a connection of its own and a lower priority: one simulation at a
// time, within 20 s.
import { GatewayError } from "../../core/errors.ts";
import { openGate } from "../../core/concurrency/gate.ts";
import { LATE, within } from "../../core/concurrency/timeout.ts";
import { RequestThread } from "../../wire/request-thread.ts";
import type { DatabasePlace } from "./database.ts";
import { StoreError, type StoreErrorKind } from "../store-error.ts";

/** What the thread's program gets as its `workerData`. */
export interface QuestionSetup {
  readonly place: DatabasePlace;
}

export interface QuestionThreadOptions extends QuestionSetup {
  readonly program: URL;
  readonly atOnce: number;
  /** How long one question may take in one thread. */
  readonly limitMs: number;
  /** How long the thread stays without a question; two minutes by default. */
  readonly idleMs?: number;
  /** One question, such as "simulation", in sentences of errors. */
  readonly what: string;
  /** What to do about a question that took too long, in a sentence, and the parameter that it names. */
  readonly cure: string;
  readonly param: string;
}

const IDLE_MS = 120_000;
const STOPPED = Symbol("stopped");

export function openQuestionThread<Method extends string>(options: QuestionThreadOptions) {
  const { atOnce, limitMs, idleMs = IDLE_MS, what } = options;
  const turn = openGate(atOnce, `Too many questions (${what}) are waiting`);
  /** Threads that were ended because of one question. The others that they had are asked again, in another thread. */
  const stopped = new WeakSet<RequestThread<Method>>();
  let thread: RequestThread<Method> | null = null;
  let idle: ReturnType<typeof setTimeout> | null = null;
  let running = 0;
  let isClosed = false;
  const end = async (): Promise<void> => {
    const ending = thread;
    thread = null;
    await ending?.close(false);
  };
  const rest = (): void => {
    if (idle !== null) clearTimeout(idle);
    idle = running > 0 || isClosed ? null : setTimeout(() => void end(), idleMs);
    idle?.unref();
  };
  const answered = async <T>(method: Method, args: readonly unknown[]): Promise<T> => {
    if (isClosed) throw new GatewayError("shutting_down", "The gateway is shutting down. Try again.");
    running++;
    rest();
    try {
      for (;;) {
        const asked = (thread ??= threadOf<Method>(options));
        const made = await within<T | typeof STOPPED>(
          asked.request<T>(method, args).catch((thrown: unknown) => {
            if (isClosed || !stopped.has(asked)) throw thrown;
            return STOPPED;
          }),
          limitMs,
        );
        if (made === LATE) {
          stopped.add(asked);
          if (thread === asked) void end();
          throw tooLong(options);
        }
        if (made !== STOPPED) return made;
      }
    } finally {
      running--;
      rest();
    }
  };
  return {
    /** Tenants take turns, and what is urgent goes before what waits. Rejects with a GatewayError or a StoreError. */
    ask: <T>(method: Method, args: readonly unknown[], tenant: string | null, isUrgent?: boolean) =>
      turn(() => answered<T>(method, args), tenant, isUrgent),
    async close(): Promise<void> {
      isClosed = true;
      rest();
      await end();
    },
  };
}

function threadOf<Method extends string>({ program, place, what }: QuestionThreadOptions): RequestThread<Method> {
  return new RequestThread<Method>({
    program,
    setup: { place } satisfies QuestionSetup,
    ended: (why) =>
      new GatewayError("internal_error", `The thread of this ${what} ended before it had an answer. Try again.`, {
        detail: `The thread of a ${what} ended${why}.`,
      }),
    failed: ({ kind, message }) =>
      kind === null
        ? new GatewayError("internal_error", `The gateway failed in this ${what}.`, { detail: message })
        : new StoreError(kind as StoreErrorKind, message),
  });
}

function tooLong({ what, limitMs, cure, param }: QuestionThreadOptions): GatewayError {
  return new GatewayError(
    "gateway_overloaded",
    `The ${what} was stopped, because it took longer than ${limitMs / 1000} s. ${cure}`,
    { param },
  );
}
