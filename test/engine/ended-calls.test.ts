// What a call has used is garbage as soon as the call has ended. A table that a set or a map has outgrown is not
// collected with the young garbage, and keeps in memory what its members refer to; so the members refer to nothing of a
// call that has ended.
import { describe, expect, test } from "bun:test";
import type { InFlightCall } from "../../src/engine/call/context.ts";
import { handleCall } from "../../src/engine/handle.ts";
import { CHAT_COMPLETIONS } from "../../src/operations/chat/chat-completions.ts";
import { cannedUpstream, stubGateway } from "../harness/in-process.ts";
import { openaiAnswer } from "../harness/servers/upstream.ts";
import { aCall, ended, newFolder, newJournal, opened } from "../store/journal/ledger-parts.ts";

const ANSWER = JSON.stringify(openaiAnswer());

/** What the members of an object refer to. */
const referred = (of: object): readonly unknown[] =>
  Object.values(of).filter((value) => (typeof value === "object" && value !== null) || typeof value === "function");

describe("[d8.5] A call that has ended is referred to by no longer-lived thing:", () => {
  for (const [what, body] of [
    ["its place among the calls in flight, after an answer", ANSWER],
    ["its place among the calls in flight, after a failure", "no JSON"],
  ] as const)
    test(what, async () => {
      const stub = stubGateway({ upstream: cannedUpstream({ body }) });
      const places: InFlightCall[] = [];
      const { traffic } = stub.context;
      const context = {
        ...stub.context,
        traffic: {
          ...traffic,
          enter(place: InFlightCall, bounds: Parameters<typeof traffic.enter>[1]) {
            places.push(place);
            traffic.enter(place, bounds);
          },
        },
      };
      const response = await handleCall(
        CHAT_COMPLETIONS,
        new Request("http://gateway/api/v1/chat/completions", {
          method: "POST",
          headers: { authorization: stub.authorization, "content-type": "application/json" },
          body: JSON.stringify({ model: "openai:gpt-4o", messages: [{ role: "user", content: "Hi" }] }),
        }),
        context,
      );
      await response.arrayBuffer();
      expect(response.status).toBe(body === ANSWER ? 200 : 502);
      expect(places.map(referred)).toEqual([[]]);
    });

  test("its entry in the ledger", async () => {
    const ledger = newJournal(newFolder());
    await ledger.start();
    const call = aCall();
    const entry = await opened(ledger, call);
    expect(referred(entry)).not.toEqual([]);
    await ledger.close(entry, ended(call));
    expect(referred(entry)).toEqual([]);
    await ledger.end();
  });
});
