// What differs between Cohere's models: https://docs.cohere.com/docs/models and the pages of the models. A name that is not known is taken for a
// current model that can do everything.

/** Before Command R7B: no `tool_choice`. */
export const BEFORE_R7B = /^(?:command(?:-light|-nightly)*$|command-r(?!7b)|c4ai-aya-|c4ai-command-r(?!7b))/;
/** Do not think, and take no thinking back. */
export const NOT_THINKING =
  /^(?:command(?:-light|-nightly)*$|(?:c4ai-)?command-r|c4ai-aya-|tiny-aya|command-a-(?:03|vision|translate))/;
export const TEXT_ONLY =
  /^(?:command(?:-light|-nightly)*$|(?:c4ai-)?command-r|c4ai-aya-(?!vision)|tiny-aya|command-a-(?:03|reasoning|translate)|north-mini)/;
export const WITHOUT_TOOLS = /^(?:command(?:-light|-nightly)*$|c4ai-aya-|tiny-aya|command-a-vision)/;
