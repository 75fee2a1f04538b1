// Tries the tests of a route that is proposed, with the configuration as it would be with it. It runs in the thread of
// simulations.
import type { RouteTest } from "../routing/test-settings.ts";
import { type ProposedRoute, withProposedRoute } from "./proposed-route.ts";
import { type RouteTestResult, testResults } from "./route-tests.ts";
import { type SimulatedConfiguration, simulatedSnapshot } from "./simulated-configuration.ts";

export interface TestQuestion {
  readonly configuration: SimulatedConfiguration;
  readonly proposal: ProposedRoute;
  readonly tests: readonly RouteTest[];
}

export function testedProposal({ configuration, proposal, tests }: TestQuestion): readonly RouteTestResult[] {
  const { tenantId, projectId, name } = proposal;
  const snapshot = withProposedRoute(simulatedSnapshot(configuration), proposal);
  return testResults(tests, { snapshot, tenantId, projectId, name });
}
