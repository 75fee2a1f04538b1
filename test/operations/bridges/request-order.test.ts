// The order of text, calls and reasoning within one turn of the model, as a client sends it back: a provider of another form
// that can say an order hears the same one (promise 12.4).
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { type StubOptions } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { bridge, type Front, FRONTS } from "./fronts.ts";
import type { Piece, Said, Vendor } from "./said.ts";
import { VENDORS } from "./vendors.ts";

const thread = openLongBodyThread(longBodyProgram());
afterAll(() => thread.close());

type Kind = "text" | "call" | "signed";

function turnOf(kinds: readonly Kind[]): readonly Said[] {
  return kinds.map((kind, at): Said => {
    if (kind === "text") return { text: `Text ${at}.` };
    if (kind === "call") return { call: `call_${at}`, name: "look", input: { at } };
    return { thinking: `Thought ${at}.`, signature: `c2ln${at}` };
  });
}

const conversationOf = (turn: readonly Said[], ask = "Look."): readonly Piece[] => [
  { role: "user", text: ask },
  ...turn.map((one) => ({ role: "assistant" as const, ...one })),
  ...turn.flatMap((one) => ("call" in one ? [{ role: "user" as const, result: one.call, text: "seen" }] : [])),
  { role: "user", text: "Go on." },
];

/** Texts that follow one another say the same as one. */
function lines(turn: readonly object[]): readonly string[] {
  const all: string[] = [];
  for (const one of turn as readonly Record<string, any>[]) {
    if ("text" in one && all.at(-1)?.startsWith("text ") === true) all.push(all.pop()! + String(one["text"]));
    else if ("text" in one) all.push(`text ${one["text"]}`);
    else all.push("call" in one ? `call ${one["call"]}` : `thought ${one["thinking"]} ${one["signature"]}`);
  }
  return all;
}

async function heard(front: Front, vendor: Vendor, conversation: readonly Piece[], options: StubOptions = {}) {
  const gateway = bridge(vendor.answer([{ text: "Hello." }]), options);
  const response = await gateway.call(front.operation, { model: vendor.model, ...front.asking(conversation) });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  const { body, bytes } = gateway.sent.at(-1)!;
  const pieces = vendor.heard(JSON.parse(bytes === undefined ? body : Buffer.from(bytes).toString()));
  return pieces.filter(({ role }) => role === "assistant");
}

const ORDERED = ["anthropic", "gemini", "bedrock"];
const drawn = (...kinds: readonly Kind[]) =>
  fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 6 }).map(turnOf);

describe.each(Object.keys(FRONTS))("[d12.4] %s", (name) => {
  const front = FRONTS[name]!;

  test.each(ORDERED)("text between calls stands there at %s", async (id) => {
    await fc.assert(
      fc.asyncProperty(drawn("text", "call"), async (turn) => {
        expect(lines(await heard(front, VENDORS[id]!, conversationOf(turn)))).toEqual(lines(turn));
      }),
      { numRuns: drawCount(30, 500) },
    );
  });

  test("a provider whose form has no order gets all of it", async () => {
    const turn = turnOf(["call", "text", "call", "text"]);
    expect(lines(await heard(front, VENDORS["openai"]!, conversationOf(turn)))).toEqual([
      "text Text 1.Text 3.",
      "call call_0",
      "call call_2",
    ]);
  });

  test.each(ORDERED)("the same holds at %s for long requests and behind masks", async (id) => {
    const turn = turnOf(["call", "text", "call", "text", "text"]);
    const long = conversationOf(turn, "word ".repeat(120_000));
    const there = { longRequests: openLongRequests(thread) };
    expect(lines(await heard(front, VENDORS[id]!, long, there))).toEqual(lines(turn));
    const policies = policiesFor({ name: "mask", guard: { classes: ["email"], action: "mask", on: "input" } });
    const said = turnOf(["call", "text", "call"]).map((one) => ("text" in one ? { text: "Ask ann@example.org" } : one));
    const masked = lines(await heard(front, VENDORS[id]!, conversationOf(said), { snapshot: { policies } }));
    expect(masked).toEqual(["call call_0", expect.stringMatching(/^text Ask (?!ann@)/), "call call_2"]);
  });
});

test.each(["anthropic", "bedrock"])(
  "[d12.4] signed thinking that stands between text and calls keeps its place at %s",
  async (id) => {
    await fc.assert(
      fc.asyncProperty(drawn("text", "call", "signed"), async (turn) => {
        const said = await heard(FRONTS["Messages"]!, VENDORS[id]!, conversationOf(turn));
        expect(lines(said)).toEqual(lines(turn));
      }),
      { numRuns: drawCount(30, 500) },
    );
  },
);

test("[d12.4, d12.13] a model that speaks the Responses API alone gets items in the order of the blocks", async () => {
  await fc.assert(
    fc.asyncProperty(drawn("text", "call"), async (turn) => {
      const answer = { id: "r", object: "response", status: "completed", model: "m", output: [] };
      const stub = bridge(
        { headers: { "content-type": "application/json" }, body: JSON.stringify(answer) },
        { providers: [providerSettings({ id: "openai", family: "openai", credentials: [storedKey("key")] })] },
      );
      const body = { model: "openai:gpt-5.2-pro", ...FRONTS["Messages"]!.asking(conversationOf(turn)) };
      await (await stub.call(MESSAGES, body)).text();
      const { input } = JSON.parse(stub.sent[0]!.body) as { readonly input: readonly Record<string, any>[] };
      const said = input.flatMap(({ type, role, content, call_id: id }): readonly object[] => {
        if (type === "function_call") return [{ call: id }];
        return role === "assistant" ? [{ text: content }] : [];
      });
      expect(lines(said)).toEqual(lines(turn));
    }),
    { numRuns: drawCount(30, 500) },
  );
});
