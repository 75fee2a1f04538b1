// The differences between Cohere's models: https://docs.cohere.com/docs/models and the pages of the models. An unknown
// name is taken for a current model that supports everything.

/** Models before Command R7B, which have no `tool_choice`. */
export const BEFORE_R7B = /^(?:command(?:-light|-nightly)*$|command-r(?!7b)|c4ai-aya-|c4ai-command-r(?!7b))/;
/** Models that do not think and accept no thinking in messages. */
export const NOT_THINKING =
  /^(?:command(?:-light|-nightly)*$|(?:c4ai-)?command-r|c4ai-aya-|tiny-aya|command-a-(?:03|vision|translate))/;
export const TEXT_ONLY =
  /^(?:command(?:-light|-nightly)*$|(?:c4ai-)?command-r|c4ai-aya-(?!vision)|tiny-aya|command-a-(?:03|reasoning|translate)|north-mini)/;
export const WITHOUT_TOOLS = /^(?:command(?:-light|-nightly)*$|c4ai-aya-|tiny-aya|command-a-vision)/;
