// Simulations and tests of routes as the admin API asks for them: in a thread of their own, one at a time, each within a
// time limit. The thread starts with the first question, and ends when it has had none for a while.
import { GatewayError } from "../core/errors.ts";
import { openGate } from "../core/gate.ts";
import { threadFile } from "../core/thread-file.ts";
import { LATE, within } from "../core/timeout.ts";
import type { DatabasePlace } from "../store/database.ts";
import { StoreError, type StoreErrorKind } from "../store/store.ts";
import { RequestThread } from "../wire/request-thread.ts";
import type { PolicyQuestion, PolicySimulation } from "./policy-simulation.ts";
import type { RouteQuestion, RouteSimulation } from "./route-simulation.ts";
import type { RouteTestResult } from "./route-tests.ts";
import type { SimulationMethod, SimulationSetup } from "./simulation-worker.ts";
import type { TestQuestion } from "./tested-proposal.ts";

/** What rejects is a GatewayError or a StoreError. */
export interface Simulations {
  route(question: RouteQuestion): Promise<RouteSimulation>;
  policy(question: PolicyQuestion): Promise<PolicySimulation>;
  /** Goes before the simulations that wait, because somebody publishes a change. */
  tests(question: TestQuestion): Promise<readonly RouteTestResult[]>;
  close(): Promise<void>;
}

export interface SimulationOptions {
  readonly place: DatabasePlace;
  /** How long one question may take; 20 s by default. */
  readonly limitMs?: number;
  /** How long the thread stays without a question; two minutes by default. */
  readonly idleMs?: number;
  /** The thread's program, where it is another one. */
  readonly program?: URL;
}

const LIMIT_MS = 20_000;
const IDLE_MS = 120_000;

export function openSimulations({
  place,
  limitMs = LIMIT_MS,
  idleMs = IDLE_MS,
  program = threadFile(import.meta.url, "simulation/simulation-worker.ts"),
}: SimulationOptions): Simulations {
  const turn = openGate(1, "Too many simulations are being made");
  let thread: RequestThread<SimulationMethod> | null = null;
  let idle: ReturnType<typeof setTimeout> | null = null;
  let isClosed = false;
  const end = async (): Promise<void> => {
    const ending = thread;
    thread = null;
    await ending?.close(false);
  };
  const ask = async <T>(method: SimulationMethod, question: unknown): Promise<T> => {
    if (isClosed) throw new GatewayError("shutting_down", "The gateway is shutting down. Try again.");
    if (idle !== null) clearTimeout(idle);
    thread ??= threadOf(program, { place });
    try {
      const made = await within(thread.request<T>(method, [question]), limitMs);
      if (made !== LATE) return made;
      void end();
      throw tooLong(limitMs);
    } finally {
      idle = setTimeout(() => void end(), idleMs);
      idle.unref();
    }
  };
  return {
    route: (question) => turn(() => ask("route", question)),
    policy: (question) => turn(() => ask("policy", question)),
    tests: (question) => turn(() => ask("tests", question), true),
    async close() {
      isClosed = true;
      if (idle !== null) clearTimeout(idle);
      await end();
    },
  };
}

function threadOf(program: URL, setup: SimulationSetup): RequestThread<SimulationMethod> {
  return new RequestThread<SimulationMethod>({
    program,
    setup,
    ended: (why) =>
      new GatewayError("internal_error", "The thread of simulations ended before it had an answer. Try again.", {
        detail: `The thread of simulations ended${why}.`,
      }),
    failed: ({ kind, message }) =>
      kind === null
        ? new GatewayError("internal_error", "The gateway failed while it simulated.", { detail: message })
        : new StoreError(kind as StoreErrorKind, message),
  });
}

function tooLong(limitMs: number): GatewayError {
  return new GatewayError(
    "gateway_overloaded",
    `The simulation was stopped, because it took longer than ${limitMs / 1000} s. Simulate fewer calls (calls), or a route with fewer tests and targets.`,
    { param: "calls" },
  );
}
