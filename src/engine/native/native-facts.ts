// What has to be known of a body in the form of an operation before a target that speaks the operation may be sent it:
// which members it has, and which of its tools run at the vendor. The thread that holds a long body works this out for the
// thread that serves calls.
import {
  type HeldBody,
  type NotedTool,
  placedTools,
  shortMember,
  shortMembersOf,
  wordsOfTool,
} from "../../core/request/held-body.ts";
import type { WrittenRequest } from "../../core/chat.ts";
import { isObject, type JsonObject, isSet } from "../../core/json.ts";
import type { ProviderSettings } from "../../core/snapshot.ts";
import type { NativeForm, NativeOperation } from "../../providers/interface/native-operation.ts";
import { hasReasoning } from "../carriers/native-carriers.ts";
import { returnsReasoning } from "../carriers/returned-reasoning.ts";

export interface NativeFacts {
  readonly names: readonly string[];
  /** Whether a member is there and is not null. */
  has(name: string): boolean;
  readonly tools: readonly NotedTool[];
  /** Whether a string of the body begins with the word by which a feature is used. */
  readonly uses: (word: string) => boolean;
}

/** Returns the facts of a body that this thread or another one holds. */
export function factsOf({ text, body: sent, replaced, held }: WrittenRequest, form: NativeForm): NativeFacts {
  if (held !== undefined) {
    const names = new Set(held.names);
    const unset = new Set(held.unset);
    return {
      names: held.names,
      has: (name) => names.has(name) && !unset.has(name),
      tools: held.tools,
      uses: (word) => held.uses.includes(word),
    };
  }
  const body = { ...sent, ...replaced };
  return {
    names: Object.keys(sent),
    has: (name) => Object.hasOwn(body, name) && isSet(body[name]),
    tools: notedTools(body, form),
    uses: (word) => text.includes(`"${word}`),
  };
}

/** Returns the members that the entry of a target adds to a body, each by its own name. */
export function addedMembers({ added }: WrittenRequest): JsonObject {
  if (added["extra_body"] === undefined) return added;
  const { extra_body: inside, ...others } = added;
  return { ...others, ...(isObject(inside) && inside) };
}

/** Whether the vendor keeps something of the answer, so that ids in it count. */
export function storesAnswer(
  { form }: NativeOperation,
  written: WrittenRequest,
  entry: ProviderSettings | undefined,
): boolean {
  const { storeMember, keptFor = [] } = form;
  const facts = keptFor.length === 0 ? null : factsOf(written, form);
  if (facts !== null && keptFor.some((name) => facts.has(name))) return true;
  return storeMember !== undefined && entry?.vendorStore === true && shortMember(written, storeMember) !== false;
}

/** Returns what the serving thread gets to know of a body. */
export function heldBody(written: WrittenRequest, form: NativeForm): HeldBody {
  const { text, body: sent, replaced } = written;
  const names = Object.keys(sent);
  const body = { ...sent, ...replaced };
  return {
    names,
    unset: names.filter((name) => !isSet(body[name])),
    tools: notedTools(body, form),
    hasReasoning: hasReasoning(body, form),
    returnsReasoning: returnsReasoning({ written }),
    short: shortMembersOf(sent),
    uses: (form.features?.foreign ?? []).flatMap(({ inBody }) => inBody.filter((word) => text.includes(`"${word}`))),
  };
}

/** A longer text is not the name of a type or of a tool. */
const MAX_NAME = 256;

/** Also of those that items of the conversation bring, because the vendor offers these to the model as well. */
function notedTools(body: JsonObject, form: NativeForm): readonly NotedTool[] {
  return [...placedTools(body["tools"], "tools"), ...form.furtherTools(body)].flatMap(({ path, tool }) => {
    if (!isObject(tool)) return [];
    const { type } = tool;
    const { type: named, name } = wordsOfTool(tool);
    const isHosted = isSet(type) && !(typeof type === "string" && form.isClientTool(tool, type));
    const privileged = form.privilegedInTools.find((one) => isSet(tool[one])) ?? null;
    if (privileged === null && (!isSet(type) || type === "function")) return [];
    return [{ path, type: shortened(named), name: shortened(name), isHosted, privileged }];
  });
}

function shortened(word: string | null): string | null {
  return word === null ? null : word.slice(0, MAX_NAME);
}
