// The turn of one round of tools as it goes back to the model: data that a vendor packed into the message is part of
// it.
import { expect, test } from "bun:test";
import { MultiRoundAnswer } from "../../../src/engine/tools/multi-round-answer.ts";
import { withOutcomes } from "../../../src/engine/tools/tool-turns.ts";

test("[d10.2] a vendor's packed data in a round's message goes into the next round with its turn, in pieces or whole", () => {
  const round = new MultiRoundAnswer(() => false, false).begin();
  round.text("content", "I look.");
  round.addExtraContent({ google: { parts: [{ a: 1 }], thought_signature: "s" } });
  round.addExtraContent({ google: { parts: [{ b: 2 }] }, anthropic: { content: [{ type: "text", text: "I look." }] } });
  round.addExtraContent(null);
  const turn = round.turn("stop");
  expect(turn["extra_content"]).toEqual({
    google: { parts: [{ a: 1 }, { b: 2 }], thought_signature: "s" },
    anthropic: { content: [{ type: "text", text: "I look." }] },
  });
  const { added } = withOutcomes({ messages: [{ role: "user", content: "?" }], toolImages: new Set() }, turn, []);
  expect(added[0]).toMatchObject({ content: "I look.", extra_content: turn["extra_content"] as object });
});
