// The thread of simulations. It reads recorded calls over a connection of its own and plays them, so that neither the
// reading nor the playing takes time of the thread that serves calls. It answers one question after the other.
import { systemClock } from "../core/clock.ts";
import { answerQuestions } from "../store/database/answer-questions.ts";
import { openRecordedReads } from "../store/search/recorded-reads.ts";
import { openKeptReads } from "./kept-reads.ts";
import { type PolicyQuestion, policySimulation } from "./policy-simulation.ts";
import { type RouteQuestion, routeSimulation } from "./route-simulation.ts";
import { testedProposal, type TestQuestion } from "./proposed-route.ts";

export type SimulationMethod = "route" | "policy" | "tests";

answerQuestions(openRecordedReads, (opened) => {
  const reads = openKeptReads(
    {
      calls: async (query) => await (await opened()).calls(query),
      tokens: async (ids) => await (await opened()).tokens(ids),
    },
    systemClock,
  );
  const answers = {
    route: (question) => routeSimulation(question as RouteQuestion, reads),
    policy: (question) => policySimulation(question as PolicyQuestion, reads),
    tests: async (question) => testedProposal(question as TestQuestion),
  } satisfies Record<SimulationMethod, (question: unknown) => Promise<unknown>>;
  return ({ method, args: [question] }) => answers[method as SimulationMethod](question);
});
