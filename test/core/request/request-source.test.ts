// A changed value of a request is never sent with the caller's text of the old value.
import { describe, expect, test } from "bun:test";
import type { ChatRequest } from "../../../src/core/chat.ts";
import { withMembers } from "../../../src/core/request/request-source.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";

const request = parseChatRequest(
  '{"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":0.5,"seed":1,"top_k":3}',
);

describe("a request whose members are changed", () => {
  test("drops the text of those with another value, and of no others", () => {
    const changed = withMembers(request, {
      messages: [{ role: "user", content: "Ho" }],
      params: { ...request.params, temperature: 1 },
      extra: { ...request.extra, top_k: 4 },
    });
    expect([...changed.source.rewritten].toSorted()).toEqual(["messages", "temperature", "top_k"]);
    expect([changed.params.temperature, changed.params.seed, changed.extra["top_k"]]).toEqual([1, 1, 4]);
    expect(request.source.rewritten.size).toBe(0);
  });
  test("keeps the text of unchanged members, and drops again what was dropped before", () => {
    const once = withMembers(request, { params: { ...request.params, seed: 2 } });
    const twice = withMembers(once, { messages: request.messages, params: { ...once.params, temperature: 1 } });
    expect([...twice.source.rewritten].toSorted()).toEqual(["seed", "temperature"]);
  });
  test("does not compile without its source", () => {
    // @ts-expect-error: the copy no longer goes with the text
    const params: ChatRequest = { ...request, params: { ...request.params, temperature: 1 } };
    // @ts-expect-error: another list of messages
    const messages: ChatRequest = { ...request, messages: request.messages.map((message) => message) };
    // @ts-expect-error: another object
    const extra: ChatRequest = { ...request, extra: { ...request.extra } };
    const copy: ChatRequest = { ...request, warnings: ["a copy that changes no member keeps the text"] };
    expect([params, messages, extra, copy].every(({ source }) => source === request.source)).toBe(true);
  });
});
