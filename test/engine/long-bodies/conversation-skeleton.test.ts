// What the serving thread knows of the members of a long conversation, whose texts it does not have.
import { expect, test } from "bun:test";
import type { Message } from "../../../src/core/chat.ts";
import { skeletonOf } from "../../../src/engine/long-bodies/conversation-skeleton.ts";

test("[d5.8, d6.10] the skeleton of a conversation has no member that no message has, so that none is reported as left out", () => {
  const calls = [
    { id: "call_1", type: "custom", custom: { name: "write", input: "x" } },
    { id: "call_2", type: "function", function: { name: "read", arguments: "{}" } },
  ];
  expect(skeletonOf([{ role: "assistant", content: null, tool_calls: calls } as unknown as Message])).toEqual([
    {
      role: "assistant",
      content: "",
      tool_calls: [
        { id: true, type: "custom", custom: true },
        { id: true, type: "function", function: { name: true, arguments: true } },
      ],
    } as unknown as Message,
  ]);
});
