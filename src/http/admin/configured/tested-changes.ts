// Tests of a route run before the transaction that publishes it: while they run in the thread of simulations, nobody
// waits for the lock of the database. The transaction then publishes only what they were run against.
import { formatPath } from "../../../config/problem.ts";
import { GatewayError } from "../../../core/errors.ts";
import { insufficientRole } from "../../../core/refusals.ts";
import type { RouteTestResult } from "../../../simulation/route-tests.ts";
import type { Simulations } from "../../../simulation/simulations.ts";
import { StoreError } from "../../../store/store-error.ts";
import type { Writer } from "../../../store/writer.ts";
import type { Desired } from "./desired-document.ts";
import type { DocumentRule } from "./document-rule.ts";
import { problemsError } from "../input.ts";
import type { AdminCall, Prepared, PreparingStore } from "../operation.ts";
import { keptSimulations } from "../report-reads.ts";

/** Null where nothing was tried. */
export type TestsDone = readonly RouteTestResult[] | null;

/** Runs the tests of what a request asks for. What is wrong with the request is reported by the transaction. */
export async function testsOf(
  rule: DocumentRule,
  simulations: Simulations | null,
  call: AdminCall,
  store: PreparingStore,
  desired: () => Promise<Desired>,
): Promise<Prepared<TestsDone>> {
  if (rule.tests === undefined) return { found: null };
  const basedOn = await store.revision();
  const question = await unlessRefused(async () => await rule.tests!({ call, ...(await desired()), reader: store }));
  if (question === null) return { found: null };
  return { found: await keptSimulations(simulations).tests(question), basedOn };
}

/**
 * Throws `invalid_request` with the tests that failed, unless the request overrides them, and `insufficient_role` where
 * the caller may not.
 */
export async function requireTested(
  rule: DocumentRule,
  call: AdminCall,
  { name, document }: Desired,
  writer: Writer,
  done: TestsDone,
): Promise<void> {
  if (done !== null) requirePassed(call, name, done, writer);
  else if ((await rule.tests?.({ call, name, document, reader: writer })) != null)
    // it had no tests, or could not be published, when they would have run
    throw new StoreError("moved", "The configuration was changed while this change was prepared. Try again.");
}

async function unlessRefused<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof GatewayError || thrown instanceof StoreError) return null;
    throw thrown;
  }
}

function requirePassed(
  call: AdminCall,
  name: string | null,
  results: readonly RouteTestResult[],
  writer: Writer,
): void {
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
    throw insufficientRole("Only an owner can publish a change whose tests fail.", "override_tests");
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
