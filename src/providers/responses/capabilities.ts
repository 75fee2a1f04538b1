// What the Responses form has of the common parameters: https://platform.openai.com/docs/api-reference/responses/create
import { type Capability, type Feature, mapped, native, unsupported, same } from "../../core/capability.ts";

type Cells = Readonly<Partial<Record<Feature, Capability>>>;

const NO_COUNTERPART = unsupported("no counterpart in the Responses API");

/** Cells that hold whatever is said of the model elsewhere. */
export const RESPONSES_CELLS: Cells = {
  ...same(NO_COUNTERPART, "n", "stop", "presence_penalty", "frequency_penalty", "logit_bias", "seed", "modalities"),
  ...same(NO_COUNTERPART, "audio", "prediction", "input_audio"),
  store: unsupported("always sent as false"),
  ...same(mapped("max_output_tokens, at least 16"), "max_tokens", "max_completion_tokens"),
  stream_options: mapped("the usage is always in the stream; the gateway builds the last chunk from it"),
};

/** Cells of parameters that some of these models lack, which their own cells say. */
export const RESPONSES_MODEL_CELLS: Cells = {
  response_format: mapped("text.format"),
  verbosity: mapped("text.verbosity"),
  reasoning_effort: mapped("reasoning.effort"),
  logprobs: mapped("include message.output_text.logprobs"),
  tools: mapped("name, description, parameters and strict stand flat in the tool"),
  tool_choice: mapped("the name stands flat in the choice"),
  web_search_options: mapped("a tool of type web_search"),
  image_url: native("as input_image"),
  file: native("as input_file"),
};
