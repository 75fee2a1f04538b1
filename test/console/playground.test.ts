// The parts of the playground that need no browser: the request and its form, what a stream says, faults, links and costs.
import { describe, expect, test } from "bun:test";
import type { ConfiguredObject } from "../../console/src/configured/noun.ts";
import { NO_ANSWER, withData } from "../../console/src/screens/play/chat-run.ts";
import { eventsIn } from "../../console/src/live/call-stream.ts";
import { faultOf, withFault } from "../../console/src/screens/play/faults.ts";
import {
  forTarget,
  messagesOf,
  readRequest,
  targetOf,
  withMember,
  withMessage,
  withNewMessage,
  withoutMessage,
  writtenRequest,
} from "../../console/src/screens/play/play-request.ts";
import { fragmentOf, requestIn } from "../../console/src/screens/play/share.ts";
import { eachText, rateText } from "../../console/src/screens/prices/price-words.ts";
import { perMillion } from "../../console/src/screens/play/token-cost.ts";

test("the list of prices says what each figure is for, and nothing of one that is not there", () => {
  const price = (fields: object) => ({ id: "p", version: 1, ...fields }) as unknown as ConfiguredObject;
  const ranking = price({ search_unit: "0.002", per: "million_tokens" });
  expect([rateText(ranking, "prompt"), eachText(ranking)]).toEqual(["–", "0.002 for a search unit"]);
  const both = price({ prompt: "2.50", request: "0.0001" });
  expect([rateText(both, "prompt"), rateText(both, "completion"), eachText(both)]).toEqual([
    "2.50 for a million",
    "–",
    "0.0001 for a request",
  ]);
});

describe("the request", () => {
  const body = {
    model: "chat",
    vendor_field: { kept: [1, 2] },
    messages: [
      { role: "user", name: "ann", content: "Hello" },
      { role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] },
    ],
  };

  test("keeps what the form does not show, in its place", () => {
    const changed = withMessage(withMember(body, "temperature", 0.5), 0, { content: "Bye" });
    expect(Object.keys(changed)).toEqual(["model", "vendor_field", "messages", "temperature"]);
    expect(changed["vendor_field"]).toEqual({ kept: [1, 2] });
    expect(changed["messages"]).toEqual([{ role: "user", name: "ann", content: "Bye" }, body.messages[1]!]);
    expect(withMember(changed, "temperature", undefined)).toEqual({ ...body, messages: changed["messages"]! });
    expect(readRequest(writtenRequest(body)).body).toEqual(body);
  });

  test("names the parts of a message that is no text", () => {
    expect(messagesOf(body)).toEqual([
      { role: "user", text: "Hello", parts: [] },
      { role: "user", text: null, parts: ["image_url"] },
    ]);
    expect(messagesOf({ messages: "none" })).toBeNull();
    expect((withNewMessage(body)["messages"] as readonly unknown[]).at(-1)).toEqual({ role: "assistant", content: "" });
    expect((withoutMessage(body, 0)["messages"] as readonly unknown[]).length).toBe(1);
  });

  test("that is no JSON object says in which line", () => {
    expect(readRequest('{\n  "model": "a",\n  oops\n}').problem).toMatchObject({
      line: expect.any(Number),
      message: expect.stringContaining("not JSON"),
    });
    expect(readRequest("[]").problem).toEqual({ line: 1, message: "The request has to be a JSON object." });
  });

  test("goes to another target without the route that it names", () => {
    expect(targetOf({ route: "chat", model: "a:b" })).toBe("chat");
    expect(targetOf({ route: "direct", model: "a:b" })).toBe("a:b");
    expect(targetOf({})).toBeNull();
    expect(forTarget({ route: "chat", stream: true }, "fast")).toEqual({ stream: true, model: "fast" });
  });

  test("meets a fault first, and then its own target", () => {
    const fault = faultOf("429");
    expect(withFault({ model: "chat", fallbacks: ["x:y"] }, fault, (name) => name === "chat")).toEqual({
      model: "sandbox:fail-429",
      num_retries: 0,
      fallbacks: [{ route: "chat" }, "x:y"],
    });
    expect(withFault({ route: "r", model: "a:b" }, fault, () => false)["fallbacks"]).toEqual(["r"]);
    expect(withFault(body, null, () => true)).toBe(body);
    expect(faultOf("unknown")).toBeNull();
  });
});

describe("an answer", () => {
  test("is put together from the events of a stream, wherever its bytes are cut", () => {
    const lines = [
      { choices: [{ index: 0, delta: { role: "assistant", content: "Hel" } }] },
      { choices: [{ index: 1, delta: { content: "another choice" } }] },
      { choices: [{ index: 0, delta: { content: "lo" } }] },
      { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "c1", function: { name: "add" } }] } }] },
      { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }], usage: { completion_tokens: 3 } },
    ];
    const stream = `: keep-alive\r\n\r\n${lines.map((line) => `data: ${JSON.stringify(line)}\n\n`).join("")}data: [DONE]\n\n`;
    let rest = "";
    let answer = NO_ANSWER;
    for (const sign of stream) {
      const read = eventsIn(rest + sign);
      rest = read.left;
      for (const { data } of read.events) answer = withData(answer, data);
    }
    expect(rest).toBe("");
    expect(answer).toEqual({
      text: "Hello",
      reasoning: "",
      toolCalls: [{ index: 0, id: "c1", name: "add", arguments: '{"a":1}' }],
      finishReason: "tool_calls",
      usage: { completion_tokens: 3 },
      error: null,
    });
  });

  test("keeps the calls of functions in the order in which they begin, whatever their numbers are", () => {
    const parts = [
      { index: 4_000_000_000, id: "c1", function: { name: "add", arguments: "{" } },
      { index: 1, id: "c2", function: { name: "sum", arguments: "{}" } },
      { index: 4_000_000_000, function: { arguments: "}" } },
    ];
    const answer = parts.reduce(
      (before, part) => withData(before, JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [part] } }] })),
      NO_ANSWER,
    );
    expect(answer.toolCalls).toEqual([
      { index: 4_000_000_000, id: "c1", name: "add", arguments: "{}" },
      { index: 1, id: "c2", name: "sum", arguments: "{}" },
    ]);
  });

  test("is read from a whole body, and from an error", () => {
    const whole = JSON.stringify({ choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }] });
    expect(withData(NO_ANSWER, whole)).toMatchObject({ text: "Hi", finishReason: "stop" });
    const refused = JSON.stringify({ error: { message: "No.", code: "invalid_request", param: "model" } });
    expect(withData(NO_ANSWER, refused).error).toEqual({ message: "No.", code: "invalid_request", param: "model" });
    expect(withData(NO_ANSWER, "<html>")).toBe(NO_ANSWER);
  });
});

test("a link carries any text, and none that browsers would cut", () => {
  const text = '{"model":"chat","messages":[{"role":"user","content":"Grüße 🎉 +/="}]}';
  expect(fragmentOf(text)).toMatch(/^#request=[\w-]+$/);
  expect(requestIn(fragmentOf(text))).toBe(text);
  expect(requestIn("")).toBeNull();
  expect(requestIn("#request=%%%")).toBeNull();
  expect(fragmentOf("x".repeat(600_000))).toBe("");
});

test("prices of a token that are less than a nano-dollar are multiplied exactly, and rounded up", () => {
  expect(perMillion("0.0000025")).toBe("$2.50");
  expect(perMillion("0.00000000015")).toBe("$0.00015");
  expect(perMillion("0.0000000000000001")).toBe("$0.000000001");
  expect(perMillion("free")).toBe("an unknown price");
});
