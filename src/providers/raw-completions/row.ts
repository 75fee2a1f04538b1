// One raw prompt endpoint as data. `form` is the wire form, and a row states only what differs from that form's table.
import type { Capability, CapabilityCells, Feature } from "../../core/capability.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { AnswerRules } from "../openai-compatible/answer-rules.ts";
import type { ErrorRule } from "../openai-compatible/row.ts";
import type { Prompt } from "../prompt-template/prompt.ts";
import type { Framing, Provider } from "../provider.ts";

export interface CompletionRow {
  /** `<id>-generate` when the provider has a chat row too. */
  readonly id: string;
  readonly label: string;
  /**
   * The vendor's name in OpenTelemetry's list. Absent when the list does not have the vendor, or has it under this
   * row's id.
   */
  readonly vendor?: string;
  /** The vendor's page for this endpoint. */
  readonly docs: string;
  readonly form: CompletionForm;
  readonly baseUrl: string | null;
  readonly baseUrlVariables?: readonly string[];
  /** The same variables as in the provider's chat row. */
  readonly keyVariables: readonly string[];
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
  /**
   * Set when the vendor's own prompts begin with the first token of a sequence. When absent, the server's tokenizer
   * writes it.
   */
  readonly bosInPrompt?: true;
  readonly errors?: readonly ErrorRule[];
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
  encode(row: CompletionRow, request: ChatRequest, target: Target, prompt: Prompt): EncodedForm;
  decoders(rules: AnswerRules): Pick<Provider, "decodeResponse" | "openStream">;
}
