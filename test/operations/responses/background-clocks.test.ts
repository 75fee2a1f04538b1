// Promise 12.8 where the clocks of two gateways differ: the one that is asked judges a call that another one runs.
import { expect, test } from "bun:test";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { RunMarks } from "../../../src/operations/responses/background/background-marks.ts";
import { keepResponse } from "../../../src/operations/responses/keeping/kept-responses.ts";
import { retrievedResponse } from "../../../src/operations/responses/kept-response-requests.ts";
import { projectToken } from "../../harness/in-process.ts";
import { turnedClock } from "../../harness/turned-clock.ts";

const ID = "resp_1";
const NOW_MS = 1_790_000_000_000;

function twoGateways() {
  const clock = turnedClock(NOW_MS);
  const kept = new KeptObjects(clock);
  const { token } = projectToken();
  const owner = { tenantId: "default", projectId: "default", tokenId: token.id, userId: null };
  const marks = new RunMarks({ kept, clock }, "default", ID);
  const keep = (status: string) =>
    keepResponse(kept, { owner, response: { id: ID, status, output: [] }, input: [] }, 0);
  /** What the other gateway says, whose clock is a minute ahead. */
  const asked = async (): Promise<unknown> => {
    const found = await retrievedResponse({
      token,
      address: () => null,
      snapshot: { memberships: new Map(), operators: new Map() },
      kept: { kept, durable: null, background: null, audit: null, clock: turnedClock(NOW_MS + 60_000) },
      id: ID,
      query: () => undefined,
    });
    return found instanceof ReadableStream ? null : found["status"];
  };
  return { clock, marks, keep, asked };
}

test("[d12.8] a call that runs is in progress for a gateway whose clock is a minute ahead, and one that does not is interrupted", async () => {
  const { clock, marks, keep, asked } = twoGateways();
  await keep("in_progress");
  await marks.runs();
  let status: unknown = null;
  void asked().then((said) => (status = said));
  while (status === null) {
    clock.turnTo(clock.now() + 1_000);
    await marks.runs();
    await Bun.sleep(20);
  }
  expect(status).toBe("in_progress");
  expect(await asked()).toBe("failed");
}, 60_000);

test("[d12.8] a call that ends while another gateway looks whether it runs keeps its answer", async () => {
  const { marks, keep, asked } = twoGateways();
  await keep("in_progress");
  await marks.runs();
  const asking = asked();
  await keep("completed");
  expect(await asking).toBe("completed");
  expect(await asked()).toBe("completed");
}, 60_000);
