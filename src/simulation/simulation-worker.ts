// The thread of simulations. It reads recorded calls over a connection of its own and plays them, so that neither the
// reading nor the playing takes time of the thread that serves calls. It answers one request after the other.
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../core/clock.ts";
import { loadedOnce } from "../core/loaded-once.ts";
import { answerRequests } from "../store/database-thread.ts";
import type { DatabasePlace } from "../store/database.ts";
import { openRecordedReads } from "../store/recorded-reads.ts";
import { openKeptReads } from "./kept-reads.ts";
import { type PolicyQuestion, policySimulation } from "./policy-simulation.ts";
import { type RouteQuestion, routeSimulation } from "./route-simulation.ts";
import { testedProposal, type TestQuestion } from "./tested-proposal.ts";

export interface SimulationSetup {
  readonly place: DatabasePlace;
}

/** Where processors are scarce, calls come first. */
const NICE = 10;

function openReads({ place }: SimulationSetup) {
  const reads = loadedOnce(() => openRecordedReads(place));
  return openKeptReads(
    {
      calls: async (query) => await (await reads()).calls(query),
      tokens: async (ids) => await (await reads()).tokens(ids),
    },
    systemClock,
  );
}

type Reads = ReturnType<typeof openReads>;

const METHODS = {
  route: (reads: Reads, question: RouteQuestion) => routeSimulation(question, reads),
  policy: (reads: Reads, question: PolicyQuestion) => policySimulation(question, reads),
  tests: (_: Reads, question: TestQuestion) => Promise.resolve(testedProposal(question)),
};
export type SimulationMethod = keyof typeof METHODS;

if (parentPort !== null) {
  // on Linux, a thread has a priority of its own; https://man7.org/linux/man-pages/man2/setpriority.2.html
  if (process.platform === "linux") setPriority(NICE);
  const reads = openReads(workerData as SimulationSetup);
  answerRequests(parentPort, Promise.resolve({ reads, close: () => Promise.resolve() }), (open, { method, args }) =>
    (METHODS[method as SimulationMethod] as (reads: Reads, question: unknown) => Promise<unknown>)(open.reads, args[0]),
  );
}
