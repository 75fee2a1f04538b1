// What providers of four forms hear of a conversation that a client of another form holds: nothing is lost, nothing is
// invented, and no reasoning becomes text.
import { describe, expect, test } from "bun:test";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { asked, type Front, FRONTS } from "./fronts.ts";
import type { Piece, Vendor } from "./said.ts";
import { VENDORS } from "./vendors.ts";

const IMAGE = "iVBORw0KGgo=";
const ASK: Piece = { role: "user", text: "Who is there?" };
const GO_ON: Piece = { role: "user", text: "Go on." };
const THOUGHT = "A secret thought.";
const SAID: Piece = { role: "assistant", text: "Nobody." };

const FORMS = Object.entries(FRONTS).flatMap(([front, by]) =>
  Object.entries(VENDORS).map(([name, at]) => [`${front} over ${name}`, by, at, name] as const),
);

async function heard(front: Front, vendor: Vendor, conversation: readonly Piece[], body = {}) {
  const { response, text, sent } = await asked(front, vendor, { conversation, body });
  expect([response.status, text]).toEqual([200, text]);
  const dropped = response.headers.get("x-gateway-dropped-params") ?? "";
  return { pieces: vendor.heard(JSON.parse(sent)), dropped, sent };
}

const COHERE_ANSWER = JSON.stringify({
  id: "c",
  finish_reason: "COMPLETE",
  message: { role: "assistant", content: [{ type: "text", text: "Hi" }] },
  usage: { tokens: { input_tokens: 5, output_tokens: 2 } },
});
const OLLAMA_ANSWER = JSON.stringify({
  model: "m",
  message: { role: "assistant", content: "Hi" },
  done: true,
  done_reason: "stop",
  prompt_eval_count: 5,
  eval_count: 2,
});

/** The pieces without the results' order and without signatures, and images of results beside them. */
const roleAndWords = (pieces: readonly Piece[]): readonly string[] =>
  pieces.map((one) => `${one.role} ${"text" in one && !("result" in one) ? one.text : Object.keys(one)[1]!}`);

describe.each(FORMS)("%s", (_name, front, vendor, name) => {
  test("[d12.4] calls and their results keep ids, names and arguments, and stand together", async () => {
    const conversation: readonly Piece[] = [
      ASK,
      { role: "assistant", text: "I look." },
      { role: "assistant", call: "call_a", name: "look", input: { at: [1, { b: "x" }] } },
      { role: "assistant", call: "call_b", name: "see", input: {} },
      { role: "user", result: "call_b", text: "seen" },
      { role: "user", result: "call_a", text: "" },
      GO_ON,
    ];
    const { pieces } = await heard(front, vendor, conversation);
    const results = pieces.filter((one) => "result" in one);
    expect(pieces.slice(0, 4)).toEqual(conversation.slice(0, 4));
    expect(Object.fromEntries(results.map((one) => ("result" in one ? [one.result, one.text] : [])))).toEqual({
      call_a: "",
      call_b: "seen",
    });
    expect(pieces.slice(4, 6)).toEqual(results);
    expect(pieces.slice(6)).toEqual([GO_ON]);
  });

  test("[d12.4] an image in a result arrives behind all results of its turn, as an image, or is refused with its path", async () => {
    const conversation: readonly Piece[] = [
      ASK,
      { role: "assistant", call: "call_a", name: "look", input: {} },
      { role: "assistant", call: "call_b", name: "see", input: {} },
      { role: "user", result: "call_a", text: "looked", images: [IMAGE] },
      { role: "user", result: "call_b", text: "seen" },
      GO_ON,
    ];
    if (name === "openai") {
      const { response, sent } = await asked(front, vendor, { conversation });
      expect([response.status, sent]).toEqual([400, ""]);
      return;
    }
    const { pieces } = await heard(front, vendor, conversation);
    expect(roleAndWords(pieces)).toEqual([
      "user Who is there?",
      "assistant call",
      "assistant call",
      "user result",
      "user result",
      "user image",
      "user Go on.",
    ]);
    expect(pieces[5]).toEqual({ role: "user", image: IMAGE });
  });

  test("[d12.4] reasoning of an earlier turn is reasoning at a provider that takes it, else left out and told, and never text", async () => {
    const { pieces, dropped } = await heard(front, vendor, [
      ASK,
      { role: "assistant", thinking: THOUGHT },
      SAID,
      GO_ON,
    ]);
    const takes = name === "openai";
    expect(pieces).toEqual([ASK, ...(takes ? [{ role: "assistant" as const, thinking: THOUGHT }] : []), SAID, GO_ON]);
    expect(dropped.includes("reasoning_content")).toBe(!takes);
  });

  test("[d12.4] signed reasoning of another vendor reaches only a vendor that signs so itself; nothing is an empty message", async () => {
    const hidden: Piece = { role: "assistant", redacted: "aGlkZGVu" };
    const signed: readonly Piece[] = [{ role: "assistant", thinking: THOUGHT, signature: "Zm9yZWlnbg==" }, hidden];
    const signs = front === FRONTS["Messages"] && (name === "anthropic" || name === "bedrock");
    const turns: readonly (readonly [blocks: readonly Piece[], rest: readonly Piece[]])[] = [
      [signed, [SAID]],
      [signed, []],
      [[hidden], []],
    ];
    for (const [blocks, rest] of turns) {
      const { pieces, sent, dropped } = await heard(front, vendor, [ASK, ...blocks, ...rest, GO_ON]);
      const kept = pieces.filter((one) => !("thinking" in one) && !("redacted" in one));
      expect(kept).toEqual([ASK, ...rest, GO_ON]);
      expect(pieces.filter((one) => "redacted" in one)).toEqual(signs ? [hidden] : []);
      expect(/Zm9yZWlnbg|aGlkZGVu/.test(sent)).toBe(signs);
      expect(dropped !== "").toBe(!signs);
      for (const { content, parts, reasoning_content: thought } of messagesIn(sent))
        expect(thought ?? content ?? parts).not.toBeEmpty();
    }
  });

  test("[d12.4] a system message amid the conversation is neither refused nor lost, nor said by the user", async () => {
    const { pieces } = await heard(front, vendor, [ASK, SAID, { role: "system", text: "Now in French." }, GO_ON]);
    const others = pieces.filter(({ role }) => role !== "system");
    expect(others).toEqual([ASK, SAID, GO_ON]);
    expect(pieces.filter(({ role }) => role === "system")).toEqual([{ role: "system", text: "Now in French." }]);
  });
});

/** The messages of a request in any of the forms. */
function messagesIn(sent: string): readonly Record<string, any>[] {
  const { messages, contents } = JSON.parse(sent);
  return (messages ?? contents) as readonly Record<string, any>[];
}

test("[d12.4] reasoning that a provider of plain reasoning does not take is told, also where the model does not think", async () => {
  const CALLED = { type: "tool_use", id: "call_a", name: "look", input: {} };
  const RESULT = { role: "user", content: [{ type: "tool_result", tool_use_id: "call_a", content: "x" }] };
  for (const [model, signature, calls, taken] of [
    ["cohere:command-a-reasoning-08-2025", "", false, true],
    ["cohere:command-a-reasoning-08-2025", "Zm9yZWlnbg==", false, false],
    ["cohere:command-a-03-2025", "", false, false],
    ["cohere:command-a-03-2025", "", true, true],
    ["ollama:qwen3", "", false, true],
    ["ollama:qwen3", "Zm9yZWlnbg==", false, false],
  ] as const) {
    const gateway = stubGateway({
      upstream: cannedUpstream({ body: model.startsWith("ollama") ? OLLAMA_ANSWER : COHERE_ANSWER }),
      providers: ["cohere", "ollama"].map((id) =>
        providerSettings({
          id,
          family: id,
          baseUrl: "https://provider.test",
          credentials: [storedKey("key")],
          native: [],
        }),
      ),
    });
    const said = calls ? CALLED : { type: "text", text: "Nobody." };
    const response = await gateway.call(MESSAGES, {
      model,
      max_tokens: 100,
      messages: [
        { role: "user", content: "Who is there?" },
        { role: "assistant", content: [{ type: "thinking", thinking: THOUGHT, signature }, said] },
        calls ? RESULT : { role: "user", content: "Go on." },
      ],
    });
    expect([model, response.status]).toEqual([model, 200]);
    const dropped = response.headers.get("x-gateway-dropped-params") ?? "";
    expect([model, signature, gateway.sent[0]!.body.includes(THOUGHT), !dropped.includes("reasoning")]).toEqual([
      model,
      signature,
      taken,
      taken,
    ]);
  }
});
