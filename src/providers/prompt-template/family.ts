// A family of models that share one prompt form, as data. The templates are our own, in Jinja, each written after the
// page that its `docs` names.
import type { SystemFold } from "./conversation.ts";

export interface PromptFamily {
  /** The family's own name. `hf_model_name` accepts it too. */
  readonly name: string;
  readonly label: string;
  /** The vendor's page that publishes the form. */
  readonly docs: string;
  /** Matched against the model's name in lower case. */
  readonly models: RegExp;
  /**
   * The template uses `messages`, `bos_token` and `eos_token`, and writes the opening of the assistant's turn when
   * `add_generation_prompt` is true. A form without an end-of-sequence token writes `sequence_end` behind the
   * assistant's turns. It is the caller's own token, and empty when the caller sent none.
   */
  readonly template: string;
  /** Empty when the form has no such token. */
  readonly bos: string;
  /** The token that ends the assistant's turn. */
  readonly eos: string;
  /** Absent when the form has system turns, which may stand anywhere. */
  readonly system?: SystemFold;
  /** The text between the opening of the assistant's turn and its content. */
  readonly lead?: string;
  /** The text that ends the assistant's turn when no token does. Only these families add stop sequences. */
  readonly stop?: readonly string[];
}
