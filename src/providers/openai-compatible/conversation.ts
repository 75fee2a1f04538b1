// What OpenAI-shaped vendors take of a conversation: tables that several rows share, and a row's own table for one target.
import type { Target } from "../../core/target.ts";
import { conversationMembers, type ConversationMembers, type MemberTable } from "../conversation-members.ts";
import type { OpenAICompatibleRow } from "./row.ts";

type Further = Pick<MemberTable, "everyPart" | "calls" | "tools"> & {
  readonly system?: readonly string[];
  readonly user?: readonly string[];
  readonly assistant?: readonly string[];
  readonly tool?: readonly string[];
};

/** OpenAI's published schema, for itself and for vendors who say that they have it; with what a vendor names beyond that. */
export function likeOpenAI(
  source: string,
  { system = [], user = [], assistant = [], tool = [], ...more }: Further = {},
): MemberTable {
  return {
    source,
    system: ["name", ...system],
    user: ["name", ...user],
    assistant: ["name", "refusal", "audio", "function_call", ...assistant],
    tool,
    ...more,
  };
}

/** vLLM or SGLang stands behind the vendor's address; either name of the reasoning is read, by version: https://docs.vllm.ai/en/latest/features/reasoning_outputs.html */
export function likeVllm(source: string, more: Further = {}): MemberTable {
  return likeOpenAI(source, { ...more, assistant: ["reasoning", "reasoning_content", ...(more.assistant ?? [])] });
}

/** An address that comes with a request may be another server's, where the row says so. */
export function isElsewhere(
  { elsewhere }: Pick<OpenAICompatibleRow, "elsewhere">,
  { isCallersAddress }: Pick<Target, "isCallersAddress">,
): boolean {
  return elsewhere !== undefined && isCallersAddress;
}

/** Gives the table for a target; there are as many as combinations of model exceptions that occur. */
export function conversationTables(row: OpenAICompatibleRow): (target: Target) => ConversationMembers {
  const elsewhere = row.elsewhere === undefined ? null : conversationMembers(row.elsewhere);
  const exceptions = (row.models ?? []).filter(({ reads, takes }) => reads !== undefined || takes !== undefined);
  const tables = new Map<string, ConversationMembers>();
  return (target) => {
    if (elsewhere !== null && target.isCallersAddress) return elsewhere;
    const matching = exceptions.filter(({ models }) => models.test(target.model));
    const key = matching.map((exception) => exceptions.indexOf(exception)).join();
    let table = tables.get(key);
    if (table === undefined) {
      const further = [row, ...matching].flatMap(({ reads = [], takes = [] }) => [...reads, ...takes]);
      table = conversationMembers(
        withAssistant(row.conversation, [...further, ...(row.reasoningBack === undefined ? [] : REASONING)]),
      );
      tables.set(key, table);
    }
    return table;
  };
}
/** The names under which clients bring reasoning back: a row says under which one it goes out. */
const REASONING = ["reasoning_content", "reasoning"] as const;

function withAssistant(table: MemberTable, further: readonly string[]): MemberTable {
  return table.assistant === "any" ? table : { ...table, assistant: [...(table.assistant ?? []), ...further] };
}
