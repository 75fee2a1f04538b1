// What OpenAI-compatible vendors accept of a conversation: tables that several rows share, and a row's own table for
// one target.
import type { Target } from "../../core/target.ts";
import { withMarks } from "../conversation/cache-breakpoints.ts";
import {
  conversationMembers,
  type ConversationMembers,
  type MemberTable,
} from "../conversation/conversation-members.ts";
import { responsesMembers } from "./responses-members.ts";
import type { OpenAICompatibleRow } from "./row.ts";

type Further = Pick<MemberTable, "everyPart" | "calls" | "tools"> & {
  readonly system?: readonly string[];
  readonly user?: readonly string[];
  readonly assistant?: readonly string[];
  readonly tool?: readonly string[];
};

/** Names of participants in messages of every role but `tool`, plus the members that a vendor names beyond them. */
export function withNames({ system = [], user = [], assistant = [], ...more }: Further = {}): Further {
  return { system: ["name", ...system], user: ["name", ...user], assistant: ["name", ...assistant], ...more };
}

/**
 * OpenAI's published schema, for OpenAI itself and for vendors that claim to support it, plus the members that a vendor
 * names beyond it.
 */
export function likeOpenAI({ assistant = [], tool = [], ...more }: Further = {}): Further {
  return withNames({ ...more, assistant: ["refusal", "audio", "function_call", ...assistant], tool });
}

/**
 * For vendors that run vLLM or SGLang, which read the reasoning under one of two names, depending on their version:
 * https://docs.vllm.ai/en/latest/features/reasoning_outputs.html
 */
export function likeVllm(more: Further = {}): Further {
  return likeOpenAI({ ...more, assistant: ["reasoning", "reasoning_content", ...(more.assistant ?? [])] });
}

/**
 * What clients leave on calls and tools, and vendors accept: the `index` of a call that was put together from a stream,
 * and the name of a tool beside its function. Recorded calls:
 * https://github.com/ogx-ai/ogx/tree/main/tests/integration/responses/recordings,
 * https://github.com/llmrb/llm.rb/tree/main/spec/fixtures/cassettes
 */
export const LEFT_OVERS: Pick<MemberTable, "calls" | "tools"> = { calls: ["index"], tools: ["name"] };

/** Whether the target's address came with the request and the row treats such addresses as those of other servers. */
export function isElsewhere(
  { elsewhere }: Pick<OpenAICompatibleRow, "elsewhere">,
  { isCallersAddress }: Pick<Target, "isCallersAddress">,
): boolean {
  return elsewhere !== undefined && isCallersAddress;
}

/** Returns the table for a target. A table is kept for each combination of model exceptions that occurs. */
export function conversationTables(row: OpenAICompatibleRow): (target: Target) => ConversationMembers {
  const elsewhere = row.elsewhere === undefined ? null : conversationMembers(row.elsewhere);
  const exceptions = (row.models ?? []).filter(
    ({ reads, takes, cacheBreakpoints }) => reads !== undefined || takes !== undefined || cacheBreakpoints === true,
  );
  const tables = new Map<string, ConversationMembers>();
  const ofResponses =
    row.responses === undefined
      ? null
      : ([false, true] as const).map((isMarked) => responsesMembers(row, row.responses!, isMarked));
  return (target) => {
    const matching = exceptions.filter(({ models }) => models.test(target.model));
    const isMarked = [row, ...matching].some(({ cacheBreakpoints }) => cacheBreakpoints === true);
    if (ofResponses !== null && row.responses!.only.test(target.model)) return ofResponses[isMarked ? 1 : 0]!;
    if (elsewhere !== null && target.isCallersAddress) return elsewhere;
    const key = matching.map((exception) => exceptions.indexOf(exception)).join();
    return tables.getOrInsertComputed(key, () => {
      const further = [row, ...matching].flatMap(({ reads = [], takes = [] }) => [...reads, ...takes]);
      const own = { source: row.verified?.source ?? row.docs, ...row.conversation };
      const whole = withAssistant(own, [...further, ...(row.reasoningBack === undefined ? [] : REASONING)]);
      return conversationMembers(isMarked ? withMarks(whole) : whole);
    });
  };
}
/** The names under which clients send reasoning back. The row states the name under which it is sent to the vendor. */
const REASONING = ["reasoning_content", "reasoning"] as const;

function withAssistant(table: MemberTable, further: readonly string[]): MemberTable {
  return table.assistant === "any" ? table : { ...table, assistant: [...(table.assistant ?? []), ...further] };
}
