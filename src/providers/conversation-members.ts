// What a provider takes of a conversation (decisions 6.10): which members messages, content parts and calls of tools may have there. Everything else is
// left out for that provider, and told. It is data, with the page that it was taken from; chat/fit-conversation.ts acts on it.
import type { Message, MessageRole } from "../core/chat.ts";

/** Names of members. `any`: the vendor passes over what it does not know, so that everything goes as it came. */
export type Members = ReadonlySet<string> | "any";

export interface ConversationMembers {
  /** The page or the vendor's client that names them. */
  readonly source: string;
  /** Of messages, by role, beside `role` and `content`. */
  readonly messages: Readonly<Record<MessageRole, Members>>;
  /** Of content parts, by type, beside `type` and the member that bears the type's name. A type that is not here goes as it came. */
  readonly parts: ReadonlyMap<string, Members>;
  /** Of calls, beside `id`, `type` and the member that bears the type's name. */
  readonly calls: Members;
  /** Of the function in a call. */
  readonly functions: Members;
  /** Of functions in `tools`, beside `type` and `function`. */
  readonly tools: Members;
  /** The vendors whose data in `extra_content` of messages, parts and calls it takes back. */
  readonly extraContent: readonly string[];
  /**
   * Whether a message of the assistant carries its reasoning in a form that the vendor has signed; without one, the text of the reasoning is not taken. Null: the
   * text itself is taken.
   */
  readonly hasSignedReasoning: ((message: Message) => boolean) | null;
}

type Names = readonly string[] | "any";

/** The same in the form in which tables write it: what is not named has no further members. */
export interface MemberTable {
  readonly source: string;
  /** For messages of the developer, too. */
  readonly system?: Names;
  readonly user?: Names;
  /** Beside `tool_calls`. */
  readonly assistant?: Names;
  /** Beside `tool_call_id`. */
  readonly tool?: Names;
  /** Beside `name`. */
  readonly function?: Names;
  /** Of every part. */
  readonly everyPart?: Names;
  /** Of parts of one type, beside those of every part. */
  readonly parts?: Readonly<Record<string, readonly string[]>>;
  readonly calls?: Names;
  /** Beside `name` and `arguments`. */
  readonly functions?: Names;
  /** Of functions in `tools`. */
  readonly tools?: Names;
  readonly extraContent?: readonly string[];
  readonly hasSignedReasoning?: (message: Message) => boolean;
}

/** Types of content parts that a table speaks of without being asked: those that every caller may send. */
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
  const { source, everyPart = [], parts = {}, extraContent = [], hasSignedReasoning = null } = table;
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
    calls: members(table.calls),
    functions: members(table.functions, ["name", "arguments"]),
    tools: members(table.tools),
    extraContent,
    hasSignedReasoning,
  };
}

function members(names: Names = [], more: readonly string[] = []): Members {
  return names === "any" ? "any" : new Set([...names, ...more]);
}

/** For servers that pass over what they do not know. `extraContent` stays to be named: what one vendor packs for itself means nothing to another. */
export function openTable(source: string, extraContent: readonly string[] = []): MemberTable {
  return {
    source,
    system: "any",
    user: "any",
    assistant: "any",
    tool: "any",
    function: "any",
    everyPart: "any",
    calls: "any",
    functions: "any",
    tools: "any",
    extraContent,
  };
}
