// Promises 5.8 and 12.8: what a request refers to counts for its length, and nothing is held for a request that fails
// before it is read. That long requests are kept and refer like short ones is tested with those
// (../operations/responses-kept.test.ts).
import { afterAll, expect, test } from "bun:test";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { type LongRequests, openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { OPENAI, responsesGateway } from "../../operations/responses/responses-calls.ts";

const thread = openLongBodyThread(longBodyProgram());
const longRequests = openLongRequests(thread);
afterAll(() => thread.close());

const upstream = cannedUpstream({
  headers: { "content-type": "application/json" },
  body: JSON.stringify(openaiAnswer("Hello")),
});

test("[d5.8] [d12.8] a short request that refers to a long conversation is handled in the other thread, and released", async () => {
  const held = new Set<number>();
  let opened = 0;
  const counted: LongRequests = {
    ...longRequests,
    async open(...question) {
      const request = await longRequests.open(...question);
      held.add(request.held!.id);
      opened += 1;
      return request;
    },
    release(request) {
      held.delete(request.held!.id);
      longRequests.release(request);
    },
  };
  const stub = responsesGateway({ upstream, kept: new KeptObjects(systemClock), longRequests: counted });
  const idOf = async (body: object): Promise<string> =>
    ((await (await stub.respond({ ...OPENAI, ...body })).json()) as { readonly id: string }).id;
  let previous: string | undefined;
  const turn = "word ".repeat(LONG_BODY_BYTES / 15);
  for (const inThread of [0, 0, 0, 1, 2]) {
    previous = await idOf({ previous_response_id: previous, input: turn });
    expect([opened, held.size]).toEqual([inThread, 0]);
  }
  expect(stub.bodies().at(-1)!["messages"]).toHaveLength(9);
});

test("[d5.8] [d12.8] nothing is held of long requests whose references cannot be looked up", async () => {
  const away = (): never => {
    throw new GatewayError("kept_store_unavailable", "away");
  };
  const kept = Object.assign(new KeptObjects(systemClock), { find: away });
  const stub = responsesGateway({ upstream, kept, longRequests });
  // together they would be more than may be held for one tenant
  const input = " ".repeat(30 * 1_048_576);
  for (let call = 0; call < 20; call++) {
    const response = await stub.respond({ ...OPENAI, input, previous_response_id: "resp_1" });
    expect(((await response.json()) as any).error.code).toBe("kept_store_unavailable");
  }
});
