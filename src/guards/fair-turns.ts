// Shares one thread among the work of many tenants: each tenant with work to do gets as much time as every other,
// however much work one of them has. Work is a generator that pauses every few milliseconds; cancelled work ends at its
// next pause.

interface Task {
  readonly steps: Generator<void, unknown>;
  readonly done: (result: never) => void;
  readonly failed: (thrown: unknown) => void;
  spentMs: number;
  /** Set while the task runs, else `null`. */
  startedMs: number | null;
  isOver: boolean;
}

/** A turn ends at the first pause after this time. */
const TURN_MS = 5;

/** `pause` calls back after other events of the thread have been handled. */
export function openTurns(now: () => number, pause: (resume: () => void) => void) {
  /** In the order of their turns. */
  const tenants = new Map<string, Task[]>();
  let isRunning = false;

  const turn = (task: Task): void => {
    const startedMs = now();
    task.startedMs = startedMs;
    try {
      let step = task.steps.next();
      while (step.done !== true && now() - startedMs < TURN_MS) step = task.steps.next();
      if (step.done === true) {
        task.isOver = true;
        task.done(step.value as never);
      }
    } catch (thrown) {
      task.isOver = true;
      task.failed(thrown);
    } finally {
      task.startedMs = null;
      task.spentMs += now() - startedMs;
    }
  };

  const run = (): void => {
    const [next] = tenants;
    if (next === undefined) {
      isRunning = false;
      return;
    }
    const [tenantId, tasks] = next;
    tenants.delete(tenantId);
    const task = tasks.shift()!;
    if (!task.isOver) turn(task);
    if (!task.isOver) tasks.push(task);
    if (tasks.length > 0) tenants.set(tenantId, tasks);
    pause(run);
  };

  return {
    /**
     * `work` gets a clock of the time that it has itself taken. Its result is passed to `done`, an exception to `failed`.
     * The returned function cancels the work.
     */
    add<T>(
      tenantId: string,
      work: (spentMs: () => number) => Generator<void, T>,
      done: (result: T) => void,
      failed: (thrown: unknown) => void,
    ): () => void {
      const task: Task = {
        steps: work(() => task.spentMs + (task.startedMs === null ? 0 : now() - task.startedMs)),
        done,
        failed,
        spentMs: 0,
        startedMs: null,
        isOver: false,
      };
      tenants.getOrInsertComputed(tenantId, () => []).push(task);
      if (!isRunning) {
        isRunning = true;
        pause(run);
      }
      return () => {
        task.isOver = true;
      };
    },
  };
}
