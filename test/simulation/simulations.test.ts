// The thread of simulations: one question at a time, each within its time, and an error that says what happened where the
// thread is stopped, dies, or the gateway ends.
import { afterEach, describe, expect, test } from "bun:test";
import { GatewayError } from "../../src/core/errors.ts";
import type { RouteQuestion } from "../../src/simulation/route-simulation.ts";
import type { TestQuestion } from "../../src/simulation/proposed-route.ts";
import { openSimulations, type Simulations } from "../../src/simulation/simulations.ts";
import { openQuestionThread } from "../../src/store/database/question-thread.ts";
import { turnTime } from "../harness/time/turned-time.ts";
import { until } from "../harness/time/until.ts";

const ODD = new URL("./odd-simulation-worker.ts", import.meta.url);
const open: Simulations[] = [];
afterEach(async () => void (await Promise.all(open.splice(0).map((one) => one.close()))));

function odd(options: { readonly limitMs?: number; readonly idleMs?: number } = {}): Simulations {
  const made = openSimulations({ place: { file: "nowhere" }, program: ODD, ...options });
  open.push(made);
  return made;
}

const named = (name: string, tenantId = "acme"): RouteQuestion => ({ name, place: { tenantId } }) as RouteQuestion;
const said = async (simulations: Simulations, name: string, tenantId?: string): Promise<unknown> =>
  await simulations.route(named(name, tenantId));
const failure = async (work: Promise<unknown>): Promise<GatewayError> => {
  const thrown: unknown = await work.then(
    () => null,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(GatewayError);
  return thrown as GatewayError;
};

describe("the thread of simulations", () => {
  test("[d5.1] a simulation that takes too long is stopped, with the cure; the next one is answered", async () => {
    const simulations = odd({ limitMs: 4000 });
    const { code, message, param } = await failure(said(simulations, "for ever"));
    expect([code, param]).toEqual(["gateway_overloaded", "calls"]);
    expect(message).toContain("longer than 4 s. Simulate fewer calls");
    expect(await said(simulations, "next")).toMatchObject({ said: "next" });
  });

  test("[d5.1] a thread that dies gives an error, and the next simulation another thread", async () => {
    const simulations = odd();
    expect(await failure(said(simulations, "ends"))).toMatchObject({ code: "internal_error" });
    expect(await said(simulations, "next")).toMatchObject({ said: "next" });
  });

  test("[d5.1] a question that takes too long ends no other one in its thread", async () => {
    const thread = openQuestionThread<"route">({
      place: { file: "nowhere" },
      program: ODD,
      limitMs: 60_000,
      atOnce: 2,
      what: "reading",
      cure: "Read less.",
      param: "from",
    });
    // a thread may take longer to start than the limit, so no time passes meanwhile
    const time = turnTime();
    const long = failure(thread.ask("route", [named("silent")], null));
    await thread.ask("route", [named("next")], null).finally(() => time.stop());
    // it is answered when it is asked again
    const asked = new Int32Array(new SharedArrayBuffer(4));
    const other = thread.ask("route", [{ name: "other", asked }], null);
    await until(() => Atomics.load(asked, 0) === 1, "the thread has the other question");
    expect((await time.until(long)).code).toBe("gateway_overloaded");
    expect(await other).toMatchObject({ said: "other" });
    await thread.close();
  });

  test("one question is answered at a time, and tests of a change go before simulations that wait", async () => {
    const simulations = odd();
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    await Promise.all([
      said(simulations, "first").then(note("first")),
      said(simulations, "second").then(note("second")),
      said(simulations, "third").then(note("third")),
      simulations
        .tests({ name: "tests", proposal: { tenantId: "acme" } } as unknown as TestQuestion)
        .then(note("tests")),
    ]);
    expect(order).toEqual(["first", "tests", "second", "third"]);
  });

  test("[d5.1] tenants take turns, and the waiting questions of one refuse none of another", async () => {
    const simulations = odd();
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    const first = said(simulations, "first").then(note("first"));
    const many = Array.from({ length: 100 }, (_, index) => said(simulations, "next").then(note(`acme ${index}`)));
    const refused = failure(many.at(-1)!);
    const others = [
      said(simulations, "other", "beta").then(note("beta")),
      simulations
        .tests({ name: "tests", proposal: { tenantId: "beta" } } as unknown as TestQuestion)
        .then(note("tests of beta")),
    ];
    const refusedToo = failure(many.at(-2)!);
    expect([(await refused).code, (await refusedToo).code]).toEqual(["gateway_overloaded", "gateway_overloaded"]);
    await Promise.all([first, ...others, ...many.slice(0, -2)]);
    expect(order.slice(0, 4)).toEqual(["first", "tests of beta", "acme 0", "beta"]);
    expect(order.slice(4)).toEqual(Array.from({ length: 97 }, (_, index) => `acme ${index + 1}`));
  });

  test("[d5.1] more questions than can wait are refused at once, with a time to try again", async () => {
    const simulations = odd();
    const running = [said(simulations, "silent"), ...Array.from({ length: 100 }, () => said(simulations, "next"))];
    for (const one of running) one.catch(() => {});
    const { code, headers } = await failure(said(simulations, "too many"));
    expect([code, headers["retry-after"]]).toEqual(["gateway_overloaded", "1"]);
  });

  test("the end of the gateway ends what runs and what waits, and nothing starts a thread after it", async () => {
    const simulations = odd();
    await said(simulations, "first");
    const running = failure(said(simulations, "for ever"));
    const waiting = failure(said(simulations, "next"));
    await simulations.close();
    expect((await running).code).toBe("internal_error");
    expect((await waiting).code).toBe("shutting_down");
    expect((await failure(said(simulations, "next"))).code).toBe("shutting_down");
  });

  test("a thread without questions ends, and the next question starts another one", async () => {
    const simulations = odd({ idleMs: 1 });
    const thread = async (): Promise<number> =>
      ((await said(simulations, "next")) as { readonly thread: number }).thread;
    const first = await thread();
    await until(async () => (await thread()) !== first);
  });
});
