// Tests of a route run before the transaction that publishes it: while they run in the thread of simulations, nobody
// waits for the lock of the database. The transaction then publishes only what they were run against.
import { formatPath } from "../../../config/problem.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { RouteTestResult } from "../../../simulation/route-tests.ts";
import type { Simulations } from "../../../simulation/simulations.ts";
import { StoreError } from "../../../store/store-error.ts";
import type { Writer } from "../../../store/writer.ts";
import type { Desired } from "./desired-document.ts";
import type { DocumentRule } from "./document-rule.ts";
import { problemsError } from "../input.ts";
import type { AdminCall, Basis, PreparingStore } from "../operation.ts";
import { keptSimulations } from "../report-reads.ts";

type Call = AdminCall<unknown, unknown>;

export interface TestedChanges {
  /** Runs the tests of what a request asks for. What is wrong with the request is reported by the transaction. */
  run(call: Call, store: PreparingStore, desired: () => Promise<Desired>): Promise<Basis | undefined>;
  /**
   * Throws `invalid_request` with the tests that failed, unless the request overrides them, and `insufficient_role` where
   * the caller may not.
   */
  require(call: Call, desired: Desired, writer: Writer): Promise<void>;
}

export function openTestedChanges(rule: DocumentRule, simulations: Simulations | null): TestedChanges {
  const results = new WeakMap<Call, readonly RouteTestResult[]>();
  return {
    async run(call, store, desired) {
      results.delete(call);
      if (rule.tests === undefined) return undefined;
      const basedOn = await store.revision();
      const question = await unlessRefused(
        async () => await rule.tests!({ call, ...(await desired()), reader: store }),
      );
      if (question === null) return undefined;
      results.set(call, await keptSimulations(simulations).tests(question));
      return { basedOn };
    },
    async require(call, { name, document }, writer) {
      const done = results.get(call);
      if (done !== undefined) requirePassed(call, name, done, writer);
      else if ((await rule.tests?.({ call, name, document, reader: writer })) != null)
        // it had no tests, or could not be published, when they would have run
        throw new StoreError("moved", "The configuration was changed while this change was prepared. Try again.");
    },
  };
}

async function unlessRefused<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof GatewayError || thrown instanceof StoreError) return null;
    throw thrown;
  }
}

function requirePassed(call: Call, name: string | null, results: readonly RouteTestResult[], writer: Writer): void {
  const failed = results.flatMap(({ name: title, fault }, index) =>
    fault === null
      ? []
      : [{ path: ["tests", index], message: `the test ${JSON.stringify(title)} does not hold. ${fault}` }],
  );
  if (failed.length === 0) return;
  const reason = (call.query as { readonly override_tests?: string }).override_tests;
  if (reason === undefined) {
    const { message, param, metadata } = problemsError(failed);
    throw new GatewayError(
      "invalid_request",
      `${message} Nothing was published; an owner can publish it with override_tests and a reason.`,
      { param, metadata: metadata ?? {} },
    );
  }
  if (call.role !== "owner")
    throw new GatewayError("insufficient_role", "Only an owner can publish a change whose tests fail.", {
      param: "override_tests",
    });
  writer.note({
    action: "override_tests",
    outcome: "done",
    kind: "route",
    ...call.place!,
    targetName: name,
    note: reason,
    after: { failed: failed.map(({ path, message }) => ({ path: formatPath(path), message })) },
  });
}
