// One raw prompt endpoint as data. `form` names the wire form; a row then says only what differs from that form's table.
import type { Capability, CapabilityCells, Feature } from "../../core/capability.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { ErrorClassifier } from "../openai-compatible/errors.ts";
import type { FinishWords } from "../openai-compatible/finish-reasons.ts";
import type { ErrorRule } from "../openai-compatible/row.ts";
import type { Prompt } from "../prompt-template/prompt.ts";
import type { Framing, Provider } from "../provider.ts";

export interface CompletionRow {
  /** `<id>-generate` where the provider has a chat row too. */
  readonly id: string;
  readonly label: string;
  /** The vendor by its name in OpenTelemetry's list. Absent: it has none there, or its own id. */
  readonly vendor?: string;
  /** The vendor's page for this endpoint. */
  readonly docs: string;
  readonly form: CompletionForm;
  readonly baseUrl: string | null;
  readonly baseUrlVariables?: readonly string[];
  /** The same variables as the provider's chat row has. */
  readonly keyVariables: readonly string[];
  readonly verified?: { readonly source: string; readonly date: string };
  /** Unsupported beyond the form's own. `user` among them is left off the wire. */
  readonly lacks?: readonly Feature[];
  readonly cells?: Readonly<Partial<Record<Feature, Capability>>>;
  /** JSON output: OpenAI's member as it is, or the schema alone under llama.cpp's name. Absent: the endpoint has none. */
  readonly jsonOutput?: "response_format" | "json_schema";
  /** Least number of alternatives for which the server gives log probabilities at all. Absent: 0. */
  readonly fewestLogprobs?: number;
  /** The vendor's own prompts begin with the first token of a sequence. Absent: the server's tokenizer writes it. */
  readonly bosInPrompt?: true;
  readonly errors?: readonly ErrorRule[];
}

/** What an encoder makes of a request beside the head that all have. */
export interface EncodedForm {
  readonly url: string;
  readonly body: JsonObject;
  readonly memo: unknown;
}

/** What the decoders of a row are made with, once. */
export interface AnswerWords {
  readonly words: FinishWords;
  readonly errors: ErrorClassifier;
}

export interface CompletionForm {
  readonly framing: Framing;
  readonly cells: CapabilityCells;
  /** Wire names at the top that a pass-through may not set, beyond those of OpenAI's chat form. */
  readonly reserved: readonly string[];
  /** The same inside objects that may otherwise be passed through, each with the parameter to send instead. */
  readonly reservedInside: Readonly<Record<string, string>>;
  readonly errors?: readonly ErrorRule[];
  encode(row: CompletionRow, request: ChatRequest, target: Target, prompt: Prompt): EncodedForm;
  decoders(words: AnswerWords): Pick<Provider, "decodeResponse" | "openStream">;
}
