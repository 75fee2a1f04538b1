// Promise 12.9 over kept responses: what a provider needs back of its reasoning is kept with the response, so that a call that refers to it need not
// have asked for it.
import { describe, expect, test } from "bun:test";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { endOf } from "../../operations/responses/response-grammar.ts";
import {
  eventsOf,
  type ResponsesStub,
  responsesGateway,
  forShortAndLongRequests,
} from "../../operations/responses/responses-calls.ts";

const MODEL = "gemini:gemini-3-pro";
const SIGNATURE = "c2lnbmF0dXJl";
const weather = { type: "function", name: "weather", parameters: { type: "object" } };
const candidate = (parts: readonly object[]): object => ({
  candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
});
const called = { functionCall: { name: "weather", args: { city: "Oslo" } }, thoughtSignature: SIGNATURE };

/** A provider that signs its call, with a thought before it or without. */
function signing(thoughts: readonly object[]): ResponsesStub {
  const now = (): number => 1_767_225_600_000;
  return responsesGateway({
    kept: new KeptObjects({ now, monotonic: now }),
    upstream: cannedUpstream(({ body, url }) => {
      const answer = candidate(body.includes("functionResponse") ? [{ text: "Cold." }] : [...thoughts, called]);
      return url.includes("streamGenerateContent")
        ? { headers: { "content-type": "text/event-stream" }, body: `data: ${JSON.stringify(answer)}\n\n` }
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
    }),
  });
}

async function asked(stub: ResponsesStub, body: object): Promise<Record<string, any>> {
  const answer = await stub.respond({ model: MODEL, tools: [weather], ...body });
  const isStream = answer.headers.get("content-type")!.includes("event-stream");
  return isStream ? endOf(eventsOf(await answer.text())) : ((await answer.json()) as Record<string, any>);
}

forShortAndLongRequests(() => {
  describe.each([
    ["a thought", [{ text: "Look first.", thought: true }], ["reasoning", "function_call"]],
    ["no thought", [], ["function_call"]],
  ] as const)("a signature of a call with %s before it", (_, thoughts, types) => {
    test.each([false, true])(
      "[d12.8, d12.9] goes back where the response or its items are referred to, and is not shown; streamed: %p",
      async (stream) => {
        const stub = signing(thoughts);
        const first = await asked(stub, { input: "Oslo?", stream });
        expect(first["output"].map(({ type }: { type: string }) => type)).toEqual([...types]);
        expect(JSON.stringify(first)).not.toContain("encrypted_content");
        const output = { type: "function_call_output", call_id: first["output"].at(-1).call_id, output: "cold" };
        const references = first["output"].map(({ id }: { id: string }) => ({ type: "item_reference", id }));
        for (const next of [
          { input: [output], previous_response_id: first["id"] },
          { input: [{ role: "user", content: "Oslo?" }, ...references, output] },
        ]) {
          const { output: said } = await asked(stub, next);
          expect(said.at(-1).content[0].text).toBe("Cold.");
          const { contents } = stub.bodies().at(-1) as { contents: readonly { parts: readonly object[] }[] };
          expect(contents.flatMap(({ parts }) => parts)).toContainEqual(called);
        }
      },
    );

    test("[d12.8, d12.9] is not kept where the response is not", async () => {
      const stub = signing(thoughts);
      const { id } = await asked(stub, { input: "Oslo?", store: false });
      expect(await asked(stub, { input: "And?", previous_response_id: id })).toMatchObject({
        error: { param: "previous_response_id" },
      });
    });
  });
});
