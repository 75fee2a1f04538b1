// What a provider says is repaired in one way, whether it answers a plain call, answers a streamed call with JSON, or
// streams it: over drawn answers with everything that providers get wrong, all three say the same (promises 8.6, 8.7).
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { printedSeed } from "../../harness/time/chance.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { eventStream } from "../../harness/servers/upstream.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { ASK } from "./played-stream.ts";

interface Said {
  readonly message: Record<string, any>;
  readonly rest: Record<string, any>;
}

/** Puts the deltas of a stream together, as a client would; of a plain answer, the choices as they are. */
function saidBy(events: readonly Record<string, any>[]): Said[] {
  const said = new Map<number, Said>();
  for (const { choices } of events)
    for (const { index, delta, message: whole, ...rest } of (choices ?? []) as Record<string, any>[]) {
      if (!said.has(index)) said.set(index, { message: {}, rest: {} });
      const choice = said.get(index)!;
      for (const [name, value] of Object.entries<any>(rest)) if (value !== null) choice.rest[name] = value;
      for (const [name, value] of Object.entries<any>(delta ?? whole)) {
        if (name === "role" || value === null || value === "") continue;
        if (name === "tool_calls") addCalls((choice.message[name] ??= []), value);
        else if (name === "function_call") choice.message[name] = withPiece(choice.message[name], value);
        else if (typeof value === "string") choice.message[name] = (choice.message[name] ?? "") + value;
        else choice.message[name] = value;
      }
    }
  return [...said].toSorted(([a], [b]) => a - b).map(([, choice]) => choice);
}

function addCalls(calls: Record<string, any>[], deltas: readonly Record<string, any>[]): void {
  for (const [place, { index = place, ...delta }] of deltas.entries()) {
    const call = (calls[index] ??= {});
    for (const [name, value] of Object.entries<any>(delta))
      call[name] = name === "function" ? withPiece(call["function"], value) : value;
  }
}

function withPiece(called: Record<string, any> | undefined, piece: Record<string, any>): Record<string, any> {
  return { ...called, ...piece, arguments: (called?.["arguments"] ?? "") + (piece["arguments"] ?? "") };
}

const MAIL = "ada@mail.example.org";
const text = fc.constantFrom("", "Hello", `Write to ${MAIL}.`, null, undefined);
const own = fc.constantFrom(
  {},
  {},
  { signature: "sig" },
  { note: MAIL },
  { extra_content: { google: { thought_signature: "s" } } },
);
const call = fc
  .record({
    id: fc.constantFrom("a", "b", "", null, undefined),
    name: fc.constantFrom("f", "g"),
    text: fc.constantFrom("{}", `{"to":"${MAIL}"}`, "", null, undefined),
    own,
    ofFunction: fc.constantFrom({}, {}, { parsed: true }),
  })
  .map(({ id, name, text: args, own: members, ofFunction }) => ({
    id,
    type: "function",
    function: { name, arguments: args, ...ofFunction },
    ...members,
  }));
const CITATION = {
  type: "url_citation",
  url_citation: { url: "https://a.example/", title: "A", start_index: 6, end_index: 9 },
};
const drawnMessage = fc.record({
  role: fc.constantFrom("assistant", "model", undefined),
  content: text,
  refusal: text,
  reasoning_content: text,
  tool_calls: fc.option(fc.array(call, { maxLength: 3 }), { nil: undefined }),
  images: fc.constantFrom(undefined, [], [{ type: "image_url", image_url: { url: "data:," } }]),
  annotations: fc.constantFrom(undefined, [], [{ type: "other" }], [CITATION]),
  function_call: fc.constantFrom(undefined, undefined, null, { name: "f", arguments: `{"to":"${MAIL}"}` }),
  note: fc.constantFrom(undefined, "", MAIL, { of: [MAIL] }),
});
const logprobs = fc.constantFrom(undefined, null, { content: [{ token: "x" }] });
const anyChoice = fc.record({
  index: fc.constantFrom(0, 0, 1, 7, undefined),
  message: drawnMessage,
  finish_reason: fc.constantFrom("stop", "length", "tool_calls", null, undefined, "strange"),
  logprobs,
});
/** A choice whose end a stream may say. */
const endedChoice = fc.record({
  message: drawnMessage,
  finish_reason: fc.constantFrom("stop", "length", "tool_calls"),
  logprobs,
});
const answer = (choice: fc.Arbitrary<Record<string, any>>) =>
  fc.record({ choices: fc.array(choice, { minLength: 1, maxLength: 3 }) });

/** The provider's answer as its stream, of which each choice comes in two chunks. */
function streamOf({ choices }: { readonly choices: readonly Record<string, any>[] }): string {
  return eventStream(
    ...choices.flatMap(({ message, finish_reason: finish, ...rest }, index) => [
      {
        choices: [{ ...rest, index, delta: { ...message, tool_calls: message["tool_calls"]?.map(numbered) } }],
      },
      { choices: [{ index, delta: {}, finish_reason: finish }] },
    ]),
  );
}

const numbered = (one: object, index: number): object => ({ ...one, index });

const GUARD = policiesFor({
  name: "no-mail",
  message: "Keep it out.",
  guard: { classes: ["email"], on: "output", action: "mask" },
});

async function played(
  body: string,
  { isStream, isGuarded, type = "application/json" }: { isStream: boolean; isGuarded: boolean; type?: string },
): Promise<{ readonly status: number; readonly said: Said[] }> {
  const gateway = stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": type }, body }),
    ...(isGuarded && { snapshot: { policies: GUARD } }),
  });
  const response = await gateway.chat({ ...ASK, stream: isStream, n: 3 });
  const received = await response.text();
  if (!response.ok) return { status: response.status, said: [] };
  const events = isStream ? readStream(received).events : [JSON.parse(received)];
  // an id that the gateway makes up is of its call
  const known = JSON.stringify(saidBy(events)).replaceAll(/call_[0-9a-f]{20}_/g, "call_made_");
  if (isGuarded) expect(known).not.toContain(MAIL);
  return { status: response.status, said: JSON.parse(known) };
}

describe.each([false, true])("an answer with everything that providers get wrong (under a guard: %p)", (isGuarded) => {
  const seed = printedSeed("plain-and-streamed");

  test("[d8.6] [d8.7] [d3.3] says the same to a plain and to a streamed call where it is JSON", async () => {
    await fc.assert(
      fc.asyncProperty(answer(anyChoice), async (drawn) => {
        const body = JSON.stringify(drawn);
        const plain = await played(body, { isStream: false, isGuarded });
        expect(await played(body, { isStream: true, isGuarded })).toEqual(plain);
      }),
      { seed, numRuns: drawCount(400, 20_000) },
    );
  }, 120_000);

  test("[d8.6] [d8.7] [d3.3] says the same where it is streamed", async () => {
    await fc.assert(
      fc.asyncProperty(answer(endedChoice), async (drawn) => {
        const plain = await played(JSON.stringify(drawn), { isStream: false, isGuarded });
        expect(await played(streamOf(drawn), { isStream: true, isGuarded, type: "text/event-stream" })).toEqual(plain);
      }),
      { seed, numRuns: drawCount(400, 20_000) },
    );
  }, 120_000);
});

test("[d8.7] a call whose arguments are longer than those that wait for a name is whole, plain and streamed", async () => {
  const args = JSON.stringify("x".repeat(5_000_000));
  const long = { id: "a", type: "function", function: { name: "f", arguments: args } };
  const body = { choices: [{ index: 0, message: { tool_calls: [long] }, finish_reason: "tool_calls" }] };
  const asked = { isGuarded: false };
  const plain = await played(JSON.stringify(body), { ...asked, isStream: false });
  expect(plain.said[0]!.message["tool_calls"]).toEqual([long]);
  expect(await played(JSON.stringify(body), { ...asked, isStream: true })).toEqual(plain);
});
