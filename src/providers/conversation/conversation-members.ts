// Which members messages, content parts and tool calls may have at a provider (promise 6.10). All others are left out
// for that provider, and this is reported. The tables are data, with the page from which they were taken;
// engine/fit/fit-conversation.ts applies them.
import { textOrEmpty } from "../../core/json.ts";
import type { Message, MessageRole } from "../../core/chat.ts";

/** Names of members. `any` when the vendor ignores unknown members, so that all of them are sent unchanged. */
export type Members = ReadonlySet<string> | "any";

export interface ConversationMembers {
  /** The page, or the vendor's client library, that names the members. */
  readonly source: string;
  /** Members of messages by role, beside `role` and `content`. */
  readonly messages: Readonly<Record<MessageRole, Members>>;
  /**
   * Members of content parts by type, beside `type` and the member that has the type's name. A part whose type is
   * missing here is sent unchanged.
   */
  readonly parts: ReadonlyMap<string, Members>;
  /** Members of content parts that messages of the assistant may not have. */
  readonly notInAnswers: ReadonlySet<string>;
  /** Members of tool calls, beside `id`, `type` and the member that has the type's name. */
  readonly calls: Members;
  /** Members of the function in a tool call. */
  readonly functions: Members;
  /** Members of functions in `tools`, beside `type` and `function`. */
  readonly tools: Members;
  /** The vendors whose data the provider accepts in `extra_content` of messages, parts and tool calls. */
  readonly extraContent: readonly string[];
  /**
   * Whether an assistant message carries its reasoning in a form that the vendor has signed. The plain text of unsigned
   * reasoning is not accepted. `null` when the vendor accepts the plain text.
   */
  readonly hasSignedReasoning: ((message: Message) => boolean) | null;
  /**
   * Whether an assistant message has its reasoning as the plain text that the vendor accepts. `null` when the vendor
   * accepts all reasoning members of its table. Of a long conversation the function gets `true` in place of each value.
   */
  readonly hasPlainReasoning: ((message: Message) => boolean) | null;
}

type Names = readonly string[] | "any";

/** The form in which the providers' tables are written. An absent field means that no further members are accepted. */
export interface MemberTable {
  readonly source: string;
  /** Members of system and developer messages. */
  readonly system?: Names;
  readonly user?: Names;
  /** Members beside `tool_calls`. */
  readonly assistant?: Names;
  /** Members beside `tool_call_id`. */
  readonly tool?: Names;
  /** Members beside `name`. */
  readonly function?: Names;
  /** Members that parts of all types may have. */
  readonly everyPart?: Names;
  /** Members of parts of one type, beside those of every part. */
  readonly parts?: Readonly<Record<string, readonly string[]>>;
  readonly notInAnswers?: readonly string[];
  readonly calls?: Names;
  /** Members beside `name` and `arguments`. */
  readonly functions?: Names;
  /** Members of functions in `tools`. */
  readonly tools?: Names;
  readonly extraContent?: readonly string[];
  readonly hasSignedReasoning?: (message: Message) => boolean;
  readonly hasPlainReasoning?: (message: Message) => boolean;
}

/** Types of content parts that every caller may send. Each table covers them even when it does not name them. */
const COMMON_PARTS: readonly (readonly [type: string, own: readonly string[]])[] = [
  ["text", []],
  ["refusal", []],
  ["image_url", []],
  ["input_audio", []],
  ["video_url", []],
  ["file", []],
  ["document", ["source"]],
];

export function conversationMembers(table: MemberTable): ConversationMembers {
  const { source, everyPart = [], parts = {}, extraContent = [] } = table;
  const system = members(table.system);
  const common = COMMON_PARTS.map(
    ([type, own]) => [type, members(everyPart, [...own, ...(parts[type] ?? [])])] as const,
  );
  const further = Object.entries(parts).filter(([type]) => !COMMON_PARTS.some(([known]) => known === type));
  return {
    source,
    messages: {
      system,
      developer: system,
      user: members(table.user),
      assistant: members(table.assistant, ["tool_calls"]),
      tool: members(table.tool, ["tool_call_id"]),
      function: members(table.function, ["name"]),
    },
    parts: new Map([...common, ...further.map(([type, names]) => [type, members(everyPart, names)] as const)]),
    notInAnswers: new Set(table.notInAnswers),
    calls: members(table.calls),
    functions: members(table.functions, ["name", "arguments"]),
    tools: members(table.tools),
    extraContent,
    hasSignedReasoning: table.hasSignedReasoning ?? null,
    hasPlainReasoning: table.hasPlainReasoning ?? null,
  };
}

function members(names: Names = [], more: readonly string[] = []): Members {
  return names === "any" ? "any" : new Set([...names, ...more]);
}

/**
 * What a server accepts that ignores unknown members. `extraContent` still has to be named, because the data that one
 * vendor keeps there means nothing to another.
 */
export const ALL_MEMBERS = {
  system: "any",
  user: "any",
  assistant: "any",
  tool: "any",
  function: "any",
  everyPart: "any",
  calls: "any",
  functions: "any",
  tools: "any",
} as const satisfies Omit<MemberTable, "source">;

export function openTable(source: string, extraContent: readonly string[] = []): MemberTable {
  return { source, ...ALL_MEMBERS, extraContent };
}

/** Whether reasoning is plain text: what has details came from another vendor. */
export function isPlainReasoning({ reasoning_details: details }: Message): boolean {
  return details === undefined || details === null || (Array.isArray(details) && details.length === 0);
}

/**
 * The text of earlier reasoning, for providers whose reasoning is plain text without a signature.
 * Empty when the answer came from another vendor: reasoning that has details is never plain.
 */
export function plainReasoning(message: Message): string {
  if (!isPlainReasoning(message)) return "";
  return textOrEmpty(message.reasoning_content);
}
