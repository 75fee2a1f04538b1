// Translates `input` and `instructions` to the messages of a chat completion.
import { invalid, invalidRequest } from "../../../core/refusals.ts";
import { isCarrier } from "../../../engine/carriers/reasoning-carrier.ts";
import { isObject, type Json, type JsonObject, objectsIn } from "../../../core/json.ts";
import { isNamedLikeTool, offeredNames, toolPlace } from "../../../engine/tools/offered-tools.ts";
import { ConversationBuilder, type TranslatedConversation } from "./conversation.ts";
import { type ClientTool, TOGETHER } from "../request-memo.ts";
import { type PartsContext, plainText, translatedContent, translatedParts } from "./translated-parts.ts";
import type { TranslatedTools } from "./translated-tools.ts";
import type { UntranslatedParts } from "./untranslated-parts.ts";

const ROLES = ["user", "assistant", "system", "developer"] as const;

/** The members of items that are translated, or that only name the item. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  message: ["role", "content"],
  function_call: ["call_id", "name", "arguments", "namespace"],
  function_call_output: ["call_id", "output"],
  custom_tool_call: ["call_id", "name", "input", "namespace"],
  custom_tool_call_output: ["call_id", "output"],
  reasoning: ["summary", "content", "encrypted_content"],
  tool_search_call: ["call_id", "arguments", "execution"],
  tool_search_output: ["call_id", "tools", "execution"],
  additional_tools: ["role", "tools"],
  mcp_list_tools: ["server_label", "tools", "error"],
  mcp_call: ["server_label", "name", "arguments", "output", "error", "approval_request_id"],
  mcp_approval_request: ["server_label", "name", "arguments"],
  mcp_approval_response: ["approval_request_id", "approve", "reason"],
};
const COMMON_MEMBERS: ReadonlySet<string> = new Set(["type", "id", "status"]);

export interface InputContext {
  readonly left: UntranslatedParts;
  readonly tools: TranslatedTools;
  /** The items of an earlier response, which stand before the input. */
  readonly before: readonly JsonObject[];
  /** Whether an item is a request for approval that was redacted when it was kept. */
  readonly isRedacted: (item: Json) => boolean;
  /** Whether something that the gateway cannot see may stand before the input, such as an earlier response. */
  readonly isOpen: boolean;
}

/** Adds the tools that items of the input bring. */
export function addToolsOfInput(input: Json | undefined, tools: TranslatedTools, path: string): void {
  if (!Array.isArray(input)) return;
  (input as readonly Json[]).forEach((item, index) => {
    if (isObject(item) && (item["type"] === "additional_tools" || item["type"] === "tool_search_output"))
      tools.add(item["tools"], path === "input" ? `input[${index}].tools` : path);
  });
}

/** Throws `invalid_request` with the path. */
export function translatedInput(
  input: Json | undefined,
  instructions: Json | undefined,
  context: InputContext,
): TranslatedConversation {
  const conversation = new ConversationBuilder(context.left);
  if (instructions !== undefined && instructions !== null) {
    if (typeof instructions !== "string") throw invalid("instructions", "a string", instructions);
    if (instructions !== "") conversation.addMessage("system", instructions, "instructions");
  }
  const reader = new ItemReader(conversation, context);
  for (const item of context.before) reader.add(item, EARLIER_PATH);
  if (typeof input === "string") conversation.addMessage("user", input, "input");
  else if (Array.isArray(input))
    (input as readonly Json[]).forEach((item, index) => reader.add(item, `input[${index}]`));
  else if (input !== undefined || !context.isOpen) throw invalid("input", "a string or an array of items", input);
  const ended = conversation.end();
  if (ended.messages.length === 0 && !context.isOpen && !context.left.isRefused)
    throw invalidRequest("input", "input must hold at least one item that says something.");
  // the request is refused anyway where there is nothing to translate
  if (ended.messages.length > 0) return ended;
  return { messages: [{ role: "user", content: "" }], origins: ["input"], approved: [], asked: new Map() };
}

/** Where the items of an earlier response stand in the request. */
const EARLIER_PATH = "previous_response_id";

class ItemReader {
  readonly #conversation: ConversationBuilder;
  readonly #context: InputContext;
  readonly #partsIn: PartsContext;
  readonly #partsOut: PartsContext;
  /** The ids of searches for tools that the provider ran. */
  readonly #providersSearches = new Set<string>();

  constructor(conversation: ConversationBuilder, context: InputContext) {
    this.#conversation = conversation;
    this.#context = context;
    this.#partsIn = { left: context.left, speaker: "input" };
    this.#partsOut = { left: context.left, speaker: "assistant" };
  }

  add(item: Json, path: string): void {
    if (!isObject(item)) throw invalid(path, "an object", item);
    const type = item["type"] ?? (item["role"] === undefined ? undefined : "message");
    if (typeof type !== "string") throw invalid(`${path}.type`, "the type of an item", type);
    this.#noteOthers(item, type);
    // a vendor that speaks the form judges the members of its items itself
    this.#context.left.orNoted(undefined, () => this.#addOfType(item, type, path));
  }

  #addOfType(item: JsonObject, type: string, path: string): void {
    switch (type) {
      case "message":
        return this.#addMessage(item, path);
      case "reasoning":
        return this.#addReasoning(item, path);
      case "function_call":
        return this.#addCall(item, "function", wordOf(item, "arguments", path), path);
      case "custom_tool_call":
        return this.#addCall(item, "freeform", JSON.stringify({ input: wordOf(item, "input", path) }), path);
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#addOutput(item, path);
      case "tool_search_call":
        return this.#addSearch(item, path);
      case "tool_search_output":
        return this.#addFound(item, path);
      case "mcp_call":
      case "mcp_approval_request":
        return this.#addServerCall(item, type, path);
      case "mcp_approval_response":
        return this.#addApproval(item, path);
      // their tools are in the list of tools
      case "additional_tools":
      case "mcp_list_tools":
        return;
      default:
        return this.#leave(type, path);
    }
  }

  #addMessage(item: JsonObject, path: string): void {
    const { role, content } = item;
    if (!(ROLES as readonly unknown[]).includes(role))
      throw invalid(`${path}.role`, `one of ${ROLES.join(", ")}`, role);
    if (role !== "assistant")
      return this.#conversation.addMessage(
        role as string,
        translatedContent(content, `${path}.content`, this.#partsIn),
        path,
      );
    const parts =
      typeof content === "string"
        ? [{ type: "text", text: content }]
        : translatedParts(content, `${path}.content`, this.#partsOut);
    this.#conversation.addAnswer(parts, path);
  }

  #addReasoning(item: JsonObject, path: string): void {
    const texts = (name: "content" | "summary"): string => {
      const parts = item[name];
      if (parts === undefined || parts === null) return "";
      if (!Array.isArray(parts)) throw invalid(`${path}.${name}`, "an array", parts);
      return (parts as readonly Json[])
        .map((part, index) => {
          if (!isObject(part) || typeof part["text"] !== "string")
            throw invalid(`${path}.${name}[${index}].text`, "a string", isObject(part) ? part["text"] : part);
          return part["text"];
        })
        .join("\n\n");
    };
    const summary = texts("summary");
    const text = texts("content") || summary;
    const { encrypted_content: encrypted } = item;
    const carrier = isCarrier(encrypted) ? encrypted : null;
    if (typeof encrypted === "string" && encrypted !== "" && carrier === null)
      this.#context.left.always("input[].encrypted_content");
    if (text !== "" || carrier !== null) this.#conversation.addReasoning({ text, carrier, path });
  }

  #addCall(item: JsonObject, kind: ClientTool["kind"], text: string, path: string): void {
    const { namespace } = item;
    if (namespace !== undefined && namespace !== null && typeof namespace !== "string")
      throw invalid(`${path}.namespace`, "a string", namespace);
    const { tools } = this.#context;
    const called = wordOf(item, "name", path);
    // a function that the provider's search has found is in a namespace of its own name
    const own = namespace === called && tools.hasFunction(called) ? null : (namespace ?? null);
    const name = tools.nameOf({ kind, name: called, namespace: own });
    // the gateway runs such a call, once the client has sent it back
    const isServers = isNamedLikeTool(name, tools.servers);
    this.#conversation.addCall(wordOf(item, "call_id", path), name, text, path, isServers);
  }

  #addOutput(item: JsonObject, path: string): void {
    const id = wordOf(item, "call_id", path);
    const { output } = item;
    if (typeof output === "string") return this.#conversation.addOutput(id, output, [], path, this.#context.isOpen);
    const parts = translatedParts(output, `${path}.output`, this.#partsIn);
    const media = parts.filter(({ type }) => type !== "text");
    const texts = parts.filter(({ type }) => type === "text");
    const said = plainText(texts) ?? (texts.length === 0 ? "" : texts);
    const pointed = media.length > 0 && said === "" ? "The output follows." : said;
    this.#conversation.addOutput(id, pointed, media, path, this.#context.isOpen);
  }

  /** A search that the provider ran needs no place in the conversation, because all tools are sent. */
  #addSearch(item: JsonObject, path: string): void {
    const { call_id: id, arguments: asked, execution } = item;
    if (typeof id !== "string" || execution === "server") {
      if (typeof id === "string") this.#providersSearches.add(id);
      return this.#context.left.always(path);
    }
    if (!isObject(asked)) throw invalid(`${path}.arguments`, "an object", asked);
    const name = this.#context.tools.nameOf({ kind: "tool_search", name: "tool_search", namespace: null });
    this.#conversation.addCall(id, name, JSON.stringify(asked), path);
  }

  #addFound(item: JsonObject, path: string): void {
    const { call_id: id, tools, execution } = item;
    if (typeof id !== "string" || execution === "server" || this.#providersSearches.has(id))
      return this.#context.left.always(path);
    this.#conversation.addOutput(id, JSON.stringify(tools ?? []), [], path, this.#context.isOpen);
  }

  /** A call of a tool server: one that was run, or one that waits for the client's approval. */
  #addServerCall(item: JsonObject, type: "mcp_call" | "mcp_approval_request", path: string): void {
    const sent = wordOf(item, "id", path);
    const isTogether = sent.endsWith(TOGETHER) && sent !== TOGETHER;
    const id = isTogether ? sent.slice(0, -TOGETHER.length) : sent;
    const [label, tool] = [wordOf(item, "server_label", path), wordOf(item, "name", path)];
    const name = offeredNames([{ label, tool }]).get(toolPlace(label, tool))!;
    const { output, error, approval_request_id: asked } = item;
    const isApproved = typeof asked === "string" && this.#conversation.hasCall(asked);
    const text = wordOf(item, "arguments", path);
    const isServers = isNamedLikeTool(name, this.#context.tools.servers);
    if (!isApproved) this.#conversation.addServersCall({ id, name, text, path }, isServers, isTogether);
    if (type !== "mcp_call") {
      if (this.#context.isRedacted(item)) this.#conversation.redacted.add(id);
      return void this.#conversation.asked.set(id, toolPlace(label, tool));
    }
    const said = typeof output === "string" ? output : errorText(error);
    this.#conversation.addOutput(isApproved ? asked : id, said, [], path, false);
  }

  #addApproval(item: JsonObject, path: string): void {
    const id = wordOf(item, "approval_request_id", path);
    const { approve, reason } = item;
    if (typeof approve !== "boolean") throw invalid(`${path}.approve`, "true or false", approve);
    const { isOpen } = this.#context;
    if (approve) return this.#conversation.approve(id, path, isOpen);
    const why = typeof reason === "string" && reason !== "" ? `: ${reason}` : ".";
    this.#conversation.addOutput(
      id,
      `The user did not approve this call${why}`,
      [],
      path,
      isOpen,
      "approval_request_id",
    );
  }

  #leave(type: string, path: string): void {
    const { left } = this.#context;
    if (type === "item_reference")
      left.never(
        path,
        "refers to an item that this gateway has not kept for this caller",
        "Items are kept for an hour at most. Send the item itself; clients do so with store: false.",
      );
    else if (type === "compaction" || type === "compaction_trigger")
      left.never(
        path,
        `is of the type ${type}, which only the provider that made it can read`,
        "Send the items themselves.",
      );
    else
      left.never(
        path,
        `is of the type ${JSON.stringify(type.slice(0, 64))}, which only a provider with the Responses API can take`,
        "Leave the item out, or use a model of such a provider.",
      );
  }

  #noteOthers(item: JsonObject, type: string): void {
    const known = Object.hasOwn(MEMBERS, type) ? MEMBERS[type]! : null;
    if (known === null) return;
    for (const name in item)
      if (!COMMON_MEMBERS.has(name) && !known.includes(name) && item[name] !== null && item[name] !== undefined)
        this.#context.left.always(`input[].${name.slice(0, 64)}`);
  }
}

/** Returns what a tool server's error says; one that has no text is shown whole. */
function errorText(error: Json | undefined): string {
  if (typeof error === "string") return error;
  const { content, message } = isObject(error) ? error : {};
  const texts = objectsIn(content).flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  if (texts.length > 0) return texts.join("\n");
  return typeof message === "string" ? message : JSON.stringify(error ?? null);
}

function wordOf(item: JsonObject, name: string, path: string): string {
  const word = item[name];
  if (typeof word !== "string" || (word === "" && name !== "arguments" && name !== "input"))
    throw invalid(`${path}.${name}`, "a string", word);
  return word;
}
