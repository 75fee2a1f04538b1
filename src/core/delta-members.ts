// The members of a choice and of its delta that the protocol names; any other member is a vendor's own.

/** The members whose texts come in pieces, in the order in which a model writes them. */
export const TEXT_MEMBERS = ["reasoning_content", "content", "refusal"] as const;
export type TextMember = (typeof TEXT_MEMBERS)[number];

/** What a model writes as one whole: where another block of a choice begins, the one before has ended. */
export type Block = "reasoning" | "content" | "refusal" | "calls";

/** Each member that the protocol names, with the block that its pieces belong to; `null` for what is not written in pieces. */
export const DELTA_MEMBERS: ReadonlyMap<string, Block | null> = new Map<string, Block | null>([
  ["role", null],
  ["reasoning_content", "reasoning"],
  ["reasoning_details", "reasoning"],
  ["content", "content"],
  ["refusal", "refusal"],
  ["tool_calls", "calls"],
  ["annotations", null],
]);

/** Those of a choice, streamed or not. */
export const CHOICE_MEMBERS: ReadonlySet<string> = new Set(["index", "delta", "finish_reason", "logprobs", "message"]);

export function isTextMember(name: string): name is TextMember {
  return (TEXT_MEMBERS as readonly string[]).includes(name);
}
