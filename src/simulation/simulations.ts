// Simulations and tests of routes as the admin API asks for them: in a thread of their own, one at a time, each within a
// time limit.
import { threadFile } from "../core/concurrency/thread-file.ts";
import { openQuestionThread, type QuestionThreadOptions } from "../store/database/question-thread.ts";
import type { PolicyQuestion, PolicySimulation } from "./policy-simulation.ts";
import type { RouteQuestion, RouteSimulation } from "./route-simulation.ts";
import type { RouteTestResult } from "./route-tests.ts";
import type { SimulationMethod } from "./simulation-worker.ts";
import type { TestQuestion } from "./proposed-route.ts";

/** What rejects is a GatewayError or a StoreError. */
export interface Simulations {
  route(question: RouteQuestion): Promise<RouteSimulation>;
  policy(question: PolicyQuestion): Promise<PolicySimulation>;
  /** Goes before the simulations that wait, because somebody publishes a change. */
  tests(question: TestQuestion): Promise<readonly RouteTestResult[]>;
  close(): Promise<void>;
}

const LIMIT_MS = 20_000;

/** `program` is the thread's program, where it is another one. */
export function openSimulations({
  limitMs = LIMIT_MS,
  program = threadFile(import.meta.url, "simulation/simulation-worker.ts"),
  ...options
}: Pick<QuestionThreadOptions, "place" | "idleMs"> &
  Partial<Pick<QuestionThreadOptions, "limitMs" | "program">>): Simulations {
  const thread = openQuestionThread<SimulationMethod>({
    ...options,
    program,
    limitMs,
    atOnce: 1,
    what: "simulation",
    cure: "Simulate fewer calls (calls), or a route with fewer tests and targets.",
    param: "calls",
  });
  return {
    route: (question) => thread.ask("route", [question], question.place.tenantId),
    policy: (question) => thread.ask("policy", [question], question.place.tenantId),
    tests: (question) => thread.ask("tests", [question], question.proposal.tenantId, true),
    close: () => thread.close(),
  };
}
