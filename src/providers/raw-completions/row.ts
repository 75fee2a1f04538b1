// One raw prompt endpoint as data. `form` is the wire form, and a row states only what differs from that form's table.
import type { Capability, CapabilityCells, Feature } from "../../core/capability.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { AnswerRules } from "../openai-compatible/answer-rules.ts";
import type { ErrorRule } from "../openai-compatible/row.ts";
import type { Prompt } from "../prompt-template/prompt.ts";
import type { Provider } from "../interface/provider.ts";
import type { RowDeclaration } from "../interface/provider-declaration.ts";
import type { Framing } from "../interface/stream-decoder.ts";

/** Members of a request for legacy completions that not every endpoint has. */
export type PromptMember = "echo" | "suffix" | "best_of";

/** An endpoint that takes raw prompts. */
export interface PromptEndpoint {
  /** The vendor's page for this endpoint. */
  readonly docs: string;
  readonly form: CompletionForm;
  /** Returns the complete address, when it is more than the base address and the path of the form. */
  readonly address?: (target: Target, request: ChatRequest) => string;
  /** Returns the members that replace `model`. */
  readonly model?: (target: Target, request: ChatRequest) => JsonObject;
  /** What it takes of legacy completions beside one text. */
  readonly prompts: {
    /** Set when one request may have a list of prompts. */
    readonly several?: true;
    /** Set when prompts may be lists of token ids. */
    readonly tokens?: true;
    readonly takes?: readonly PromptMember[];
  };
  readonly verified?: { readonly source: string; readonly date: string };
  /** Unsupported features beyond the form's own. `user` among them is not sent, but never refused. */
  readonly lacks?: readonly Feature[];
  readonly cells?: Readonly<Partial<Record<Feature, Capability>>>;
  /**
   * How JSON output is requested: OpenAI's member unchanged, or only the schema under llama.cpp's name. Absent when the
   * endpoint has no JSON output.
   */
  readonly jsonOutput?: "response_format" | "json_schema";
  /** The smallest number of alternatives for which the server returns log probabilities at all. 0 when absent. */
  readonly fewestLogprobs?: number;
  readonly errors?: readonly ErrorRule[];
}

/** An endpoint to which raw prompts of another provider's models go: that of the vendor's chat completions. */
export interface PromptsOf {
  /** The id of the provider. */
  readonly id: string;
  /** The models that take raw prompts; all when absent. */
  readonly models?: RegExp;
  /** Set when these models take nothing else. */
  readonly alone?: true;
  /** Returns the complete address, when it is not below the provider's own base address. */
  readonly address?: PromptEndpoint["address"];
}

/**
 * An endpoint that is a provider too: a conversation is written as a prompt for it. Where the vendor has a row for chat,
 * its id is that of the row with `-generate`, and it has the same variables.
 */
export interface CompletionRow extends PromptEndpoint, RowDeclaration {
  /**
   * Set when the vendor's own prompts begin with the first token of a sequence. When absent, the server's tokenizer
   * writes it.
   */
  readonly bosInPrompt?: true;
  /** Absent when the vendor has no chat row, or its models take no raw prompts there. */
  readonly chat?: PromptsOf;
}

/** What goes to the endpoint: the text of a conversation, or raw prompts. */
export interface SentPrompt extends Prompt {
  /** Raw prompts as they are sent: a text, tokens, or a list of either. Absent for a conversation. */
  readonly raw?: Json;
}

/** What a form encodes of a request beside the headers, which are the same for all forms. */
export interface EncodedForm {
  readonly url: string;
  readonly body: JsonObject;
  readonly memo: unknown;
}

export interface CompletionForm {
  readonly framing: Framing;
  readonly cells: CapabilityCells;
  /** Top-level wire names that a pass-through may not set, beyond those of OpenAI's chat completions. */
  readonly reserved: readonly string[];
  /** The same inside objects that may otherwise be passed through, each with the parameter to send instead. */
  readonly reservedInside: Readonly<Record<string, string>>;
  readonly errors?: readonly ErrorRule[];
  encode(row: PromptEndpoint, request: ChatRequest, target: Target, prompt: SentPrompt): EncodedForm;
  decoders(rules: AnswerRules): Pick<Provider, "decodeResponse" | "openStream">;
}
