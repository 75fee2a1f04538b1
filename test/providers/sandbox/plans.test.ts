// How `sandbox:tools` reads a plan of calls in the user's text.
import { expect, test } from "bun:test";
import { type Plan, planOf } from "../../../src/providers/sandbox/planned-calls.ts";
import type { Message } from "../../../src/core/chat.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";

const FUNCTIONS = ["local__echo", "remote__get-sum", "bell", "far__bell"].map((name) => ({ name }));
const plan = (text: string, behind: readonly Message[] = []): Plan | null =>
  planOf([{ role: "user", content: text }, ...behind], FUNCTIONS);
const turn = (...ids: readonly string[]): Message => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "bell", arguments: "{}" } })),
});

test("names are those of functions, or the part after their server's label; arguments are the object after a name", () => {
  expect(
    plan('Call echo {"message": "a } b", "deep": {"x": 1}} and call remote__get-sum, and CALL bell.')!.calls,
  ).toEqual([
    { name: "local__echo", args: '{"message": "a } b", "deep": {"x": 1}}' },
    { name: "remote__get-sum", args: null },
    { name: "bell", args: null },
  ]);
  expect(plan("Call echo {broken")!.calls).toEqual([{ name: "local__echo", args: null }]);
});

test("then begins the next round, which comes once the one before has been called", () => {
  const words = "Call echo, then call get-sum and call bell, then tell me.";
  expect(plan(words)!.calls.map(({ name }) => name)).toEqual(["local__echo"]);
  const result: Message = { role: "tool", tool_call_id: "1", content: "said" };
  expect(plan(words, [turn("1"), result])).toEqual({
    calls: [
      { name: "remote__get-sum", args: null },
      { name: "bell", args: null },
    ],
    called: 1,
    results: [result],
  });
  expect(plan(words, [turn("1"), result, turn("2", "3")])).toMatchObject({ calls: [], called: 3 });
  // images of a result come as a message of the user's, and are no new words
  expect(
    plan(words, [turn("1"), result, { role: "user", content: [{ type: "text", text: "An image of the tool." }] }])!
      .called,
  ).toBe(1);
});

test("words that name no function, and words that come later, are no plan", () => {
  expect(plan("Call a taxi, then go.")).toBeNull();
  expect(plan("echo, please")).toBeNull();
  expect(plan("Call echo.", [{ role: "user", content: "Thanks" }])).toBeNull();
  expect(planOf([], FUNCTIONS)).toBeNull();
});

test("long texts are read in little time", async () => {
  for (const made of [
    (size: number) => `Call echo ${"{".repeat(10 * size)}${"}".repeat(10 * size)}`,
    (size: number) => "call ".repeat(10 * size),
    (size: number) => "Call echo {} ".repeat(size),
  ])
    expect(await growth(made, (text) => plan(text), 2_500)).toBeLessThan(MOST_GROWTH);
});
