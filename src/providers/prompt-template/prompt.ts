// Converts a conversation to the text of a raw prompt endpoint (promise 6.7): with the caller's own marks, or else with
// a bundled template. The template treats content as data: marks inside it stay plain text, and the server's tokenizer
// decides how it reads them.
import type * as Jinja from "@huggingface/jinja";
import type { ChatParams, Message } from "../../core/chat.ts";
import { describe, isObject, type JsonObject } from "../../core/json.ts";
import { lazy, memoizePerObject } from "../../core/memoization.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import { alternating, refuseCalls, TEXT_BREAK, textsOf, type Turn, turnsOf, unsayable } from "./conversation.ts";
import { findFamily, PLAIN_FAMILY, PROMPT_FAMILIES } from "./families.ts";
import type { PromptFamily } from "./family.ts";
import { conversationMembers, type ConversationMembers } from "../conversation/conversation-members.ts";
import type { JoinedText } from "../interface/encoded-request.ts";

export interface Prompt {
  readonly text: string;
  /** Stop sequences to add to the caller's own. */
  readonly stop: readonly string[];
}

/**
 * With `serverAddsBos`, the server's tokenizer writes the first token itself, so the form's own token is left out at
 * the start. A token that the caller names is always written.
 */
export function promptOf(
  { messages, params }: { readonly messages: readonly Message[]; readonly params: ChatParams },
  model: string,
  { serverAddsBos }: { readonly serverAddsBos: boolean },
): Prompt {
  if (params.roles !== undefined) return { text: customPieces(messages, params, params.roles).join(""), stop: [] };
  const family = familyFor(params, model);
  const bos = params.bos_token ?? family.bos;
  const rendered = render(family, turnsOf(messages), {
    bos_token: bos,
    eos_token: params.eos_token ?? family.eos,
    sequence_end: params.eos_token ?? "",
  });
  const begins = bos !== "" && rendered.startsWith(bos) ? bos : "";
  const written = serverAddsBos && params.bos_token === undefined ? "" : begins;
  const start = params.bos_token !== undefined && begins === "" ? params.bos_token : written;
  return {
    text:
      start + (params.initial_prompt_value ?? "") + rendered.slice(begins.length) + (params.final_prompt_value ?? ""),
    stop: family.stop ?? [],
  };
}

/** The text that `promptOf` returns for the same arguments, with the texts of which it is made. */
export function joinedPrompt(
  { messages, params }: { readonly messages: readonly Message[]; readonly params: ChatParams },
  model: string,
  options: { readonly serverAddsBos: boolean },
): JoinedText {
  if (params.roles !== undefined) {
    const pieces = customPieces(messages, params, params.roles);
    return { text: pieces.join(""), pieces };
  }
  const { initial_prompt_value: first, final_prompt_value: last, bos_token: bos, eos_token: eos, ...others } = params;
  const empty = messages.map((message) => ({ ...message, content: "", refusal: null }));
  const form = promptOf({ messages: empty, params: others }, model, options).text;
  const written = messages.flatMap((message) => [bos, ...textsOf(message), eos]);
  const pieces = [bos, first, ...written, last, form].filter((piece) => piece !== undefined);
  return { text: promptOf({ messages, params }, model, options).text, pieces };
}

/**
 * Throws GatewayError `unsupported_value` for a hub name that belongs to no bundled family. A model's own name may be
 * anything; the plain form is used when no family matches.
 */
function familyFor({ hf_model_name: hubName }: ChatParams, model: string): PromptFamily {
  if (hubName === undefined) return findFamily(model) ?? PLAIN_FAMILY;
  const family = findFamily(hubName);
  if (family !== null) return family;
  const known = [...PROMPT_FAMILIES, PLAIN_FAMILY].map(({ name }) => name).join(", ");
  throw unsupportedValue(
    "hf_model_name",
    `hf_model_name is ${describe(hubName)}, for which there is no built-in prompt template, and templates are not fetched. Send the name of a model of one of these families, one of these words, or your own template in roles: ${known}.`,
  );
}

/** Only raw prompts need the library. */
const jinja = lazy(() => require("@huggingface/jinja") as typeof Jinja);
const templateOf = memoizePerObject(({ template }: PromptFamily) => new (jinja().Template)(template));

/** A final assistant turn is left open for the model to continue. */
function render(family: PromptFamily, turns: readonly Turn[], tokens: Readonly<Record<string, string>>): string {
  const last = turns.at(-1);
  const begun = last?.role === "assistant" ? last.content : null;
  const complete = begun === null ? turns : turns.slice(0, -1);
  const messages = family.system === undefined ? complete : alternating(complete, family.system);
  const text = templateOf(family).render({ ...tokens, messages, add_generation_prompt: true });
  return begun === null ? text : `${text}${family.lead ?? ""}${begun}`;
}

/**
 * The prompt in pieces: `bos_token` and `initial_prompt_value`, then each message between its marks, with `eos_token` behind assistant
 * messages and `bos_token` again before what follows one, and then `final_prompt_value`. This is LiteLLM's order,
 * except that LiteLLM also opens a new sequence for the system message alone:
 * https://docs.litellm.ai/docs/completion/prompt_formatting
 */
function customPieces(messages: readonly Message[], params: ChatParams, roles: JsonObject): readonly string[] {
  const { bos_token: bos = "", eos_token: eos = "" } = params;
  const pieces = [bos, params.initial_prompt_value ?? ""];
  let open = true;
  messages.forEach((message, index) => {
    const marks = marksOf(message, index, roles);
    if (!open) pieces.push(bos);
    const begun = message.role === "assistant" && index === messages.length - 1;
    pieces.push(marks.before);
    textsOf(message).forEach((text, at) => pieces.push(at === 0 ? "" : TEXT_BREAK, text));
    if (!begun) pieces.push(marks.after);
    open = message.role !== "assistant";
    if (!open && !begun) pieces.push(eos);
  });
  pieces.push(params.final_prompt_value ?? "");
  return pieces;
}

function marksOf(
  message: Message,
  index: number,
  roles: JsonObject,
): { readonly before: string; readonly after: string } {
  const { role } = message;
  const marks = roles[role] ?? (role === "developer" ? roles["system"] : undefined);
  if (!isObject(marks) && (role === "tool" || role === "function"))
    throw unsayable(`messages[${index}].role`, `a message with the role ${role} that roles does not name`);
  refuseCalls(message, index);
  const word = (name: string): string => (isObject(marks) && typeof marks[name] === "string" ? marks[name] : "");
  return { before: word("pre_message"), after: word("post_message") };
}

export const PROMPT_MEMBERS: ConversationMembers = conversationMembers({
  source: "https://huggingface.co/docs/transformers/chat_templating",
  assistant: ["refusal"],
  tool: ["name"],
});
