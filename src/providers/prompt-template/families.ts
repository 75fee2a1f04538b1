// The bundled prompt forms, each written after its vendor's page. They add no default system prompt, no date and no
// tools beyond what the caller sent. The order matters: the first family whose `models` matches a name is used. Fireworks
// writes 3.1 as `v3p1`, and Ollama a size behind a colon.
import type { PromptFamily } from "./family.ts";

/** Writes each turn between an opening and a closing mark. */
const turns = (open: string, middle: string, close: string, assistant = "assistant", content = "m.content"): string =>
  `{{ bos_token }}{% for m in messages %}{{ '${open}' + ${assistant === "assistant" ? "m.role" : `('${assistant}' if m.role == 'assistant' else m.role)`} + '${middle}' + ${content} + '${close}' + (sequence_end if m.role == 'assistant' else '') }}{% endfor %}{% if add_generation_prompt %}{{ '${open}${assistant}${middle}' }}{% endif %}`;

/** Puts `[INST]` around user messages. Assistant messages end with the end-of-sequence token. */
const instructions = (open: string, close: string, lead: string): string =>
  `{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ '${open}' + m.content + '${close}' }}{% else %}{{ '${lead}' + m.content + eos_token }}{% endif %}{% endfor %}`;

const MISTRAL_PAGE = "https://docs.mistral.ai/cookbook/concept-deep-dive-tokenization-templates";
const MISTRAL = { bos: "<s>", eos: "</s>", docs: MISTRAL_PAGE } as const;
const MISTRAL_SYSTEM_TURN = (space: string): string =>
  `{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ '[SYSTEM_PROMPT]${space}' + m.content + '[/SYSTEM_PROMPT]' }}{% elif m.role == 'user' %}{{ '[INST]${space}' + m.content + '[/INST]' }}{% else %}{{ '${space}' + m.content + eos_token }}{% endif %}{% endfor %}`;

const DEEPSEEK = { bos: "<｜begin▁of▁sentence｜>", eos: "<｜end▁of▁sentence｜>" } as const;

/**
 * Some forms are not bundled: V3.1 and later mark whether the model thinks, and Command R7B, Command A and Gemma 4 have
 * forms of their own.
 */
export const PROMPT_FAMILIES: readonly PromptFamily[] = [
  {
    name: "deepseek-v3",
    label: "DeepSeek V3 and R1",
    docs: "https://huggingface.co/deepseek-ai/DeepSeek-V3/blob/main/tokenizer_config.json",
    models: /deepseek-?(v3(?!\.|[p-]\d(?!\d))|r1)/,
    template:
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% elif m.role == 'user' %}{{ '<｜User｜>' + m.content }}{% else %}{{ '<｜Assistant｜>' + m.content + eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %}",
    ...DEEPSEEK,
  },
  {
    name: "deepseek-v2",
    label: "DeepSeek V2",
    docs: "https://github.com/deepseek-ai/DeepSeek-V2",
    models: /deepseek-?(coder-?)?v2/,
    template:
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content + '\\n\\n' }}{% elif m.role == 'user' %}{{ 'User: ' + m.content + '\\n\\n' }}{% else %}{{ 'Assistant: ' + m.content + eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}",
    ...DEEPSEEK,
    lead: " ",
  },
  {
    name: "chatml",
    label: "ChatML (Qwen, Hermes, Yi, SmolLM)",
    docs: "https://qwen.readthedocs.io/en/latest/getting_started/concepts.html",
    models: /qwen|qwq|hermes|dolphin|smollm|yi[-:].*chat/,
    template: turns("<|im_start|>", "\\n", "<|im_end|>\\n"),
    bos: "",
    eos: "<|im_end|>",
  },
  {
    name: "llama4",
    label: "Llama 4",
    docs: "https://www.llama.com/docs/model-cards-and-prompt-formats/llama4/",
    models: /llama-?4(?!\d)/,
    template: turns("<|header_start|>", "<|header_end|>\\n\\n", "<|eot|>", "assistant", "m.content | trim"),
    bos: "<|begin_of_text|>",
    eos: "<|eot|>",
  },
  {
    name: "llama3",
    label: "Llama 3, 3.1, 3.2 and 3.3",
    docs: "https://www.llama.com/docs/model-cards-and-prompt-formats/meta-llama-3/",
    models: /llama-?v?3(?!\d)/,
    template: turns("<|start_header_id|>", "<|end_header_id|>\\n\\n", "<|eot_id|>", "assistant", "m.content | trim"),
    bos: "<|begin_of_text|>",
    eos: "<|eot_id|>",
  },
  {
    name: "llama2",
    label: "Llama 2 Chat and Code Llama Instruct",
    docs: "https://www.llama.com/docs/model-cards-and-prompt-formats/meta-llama-2/",
    models: /llama-?v?2(?!\d)|code-?llama/,
    template:
      "{% for m in messages %}{% if m.role == 'user' %}{{ bos_token + '[INST] ' + m.content + ' [/INST]' }}{% else %}{{ ' ' + m.content + ' ' + eos_token }}{% endif %}{% endfor %}",
    bos: "<s>",
    eos: "</s>",
    system: { into: "first", before: "<<SYS>>\n", after: "\n<</SYS>>\n\n" },
    lead: " ",
  },
  {
    name: "zephyr",
    label: "Zephyr",
    docs: "https://huggingface.co/HuggingFaceH4/zephyr-7b-beta",
    models: /zephyr|tinyllama.*chat/,
    template:
      "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + eos_token + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
    bos: "",
    eos: "</s>",
  },
  {
    name: "mistral-v7-tekken",
    label: "Mistral V7 with Tekken (Small from 2501 on, Magistral, Devstral)",
    docs: "https://huggingface.co/mistralai/Mistral-Small-3.1-24B-Instruct-2503",
    models: /mistral-small[-:]?(24b|3)|mistral-small.*25\d\d|magistral|devstral|mistral-medium/,
    template: MISTRAL_SYSTEM_TURN(""),
    bos: "<s>",
    eos: "</s>",
  },
  {
    name: "mistral-v7",
    label: "Mistral V7 (Large 2411)",
    docs: "https://huggingface.co/mistralai/Mistral-Large-Instruct-2411",
    models: /(mistral|pixtral)-large.*2411/,
    template: MISTRAL_SYSTEM_TURN(" "),
    bos: "<s>",
    eos: "</s>",
    lead: " ",
  },
  {
    name: "mistral-v3-tekken",
    label: "Mistral V3 with Tekken (Nemo, Ministral, Pixtral 12B)",
    models: /nemo(?!tron)|ministral|pixtral/,
    template: instructions("[INST]", "[/INST]", ""),
    system: { into: "last", before: "", after: "\n\n" },
    ...MISTRAL,
  },
  {
    name: "mistral-v1",
    label: "Mistral V1 (7B Instruct v0.1 and v0.2, Mixtral 8x7B)",
    models: /mistral[-:]7b(-instruct)?-v0[.p][12]|mixtral[-:]8x7b/,
    template: instructions(" [INST] ", " [/INST]", " "),
    system: { into: "first", before: "", after: "\n\n" },
    lead: " ",
    ...MISTRAL,
  },
  {
    name: "mistral-v3",
    label: "Mistral V3 (7B Instruct v0.3, Mixtral 8x22B, Large 2407, Small 2409, Codestral 22B)",
    models: /mistral|mixtral|codestral|mathstral/,
    template: instructions("[INST] ", "[/INST]", " "),
    system: { into: "last", before: "", after: "\n\n" },
    lead: " ",
    ...MISTRAL,
  },
  {
    name: "gemma",
    label: "Gemma 1, 2 and 3",
    docs: "https://ai.google.dev/gemma/docs/core/prompt-structure",
    models: /gemma(?!-?[4-9](?!b))/,
    template: turns("<start_of_turn>", "\\n", "<end_of_turn>\\n", "model", "m.content | trim"),
    bos: "<bos>",
    eos: "<end_of_turn>",
    system: { into: "first", before: "", after: "\n\n" },
  },
  {
    name: "phi4-mini",
    label: "Phi 4 mini",
    docs: "https://huggingface.co/microsoft/Phi-4-mini-instruct",
    models: /phi-?4-(mini|multimodal)/,
    template: turns("<|", "|>", "<|end|>"),
    bos: "",
    eos: "<|end|>",
  },
  {
    name: "phi4",
    label: "Phi 4",
    docs: "https://huggingface.co/microsoft/phi-4",
    models: /phi-?4/,
    template: turns("<|im_start|>", "<|im_sep|>", "<|im_end|>"),
    bos: "",
    eos: "<|im_end|>",
  },
  {
    name: "phi3",
    label: "Phi 3 and 3.5",
    docs: "https://huggingface.co/microsoft/Phi-3-mini-4k-instruct",
    models: /phi-?3/,
    template: turns("<|", "|>\\n", "<|end|>\\n"),
    bos: "",
    eos: "<|end|>",
  },
  {
    name: "command-r",
    label: "Command R and R+",
    docs: "https://docs.cohere.com/docs/prompting-command-r",
    models: /command-r(?!7b)/,
    template:
      "{{ bos_token }}{% for m in messages %}{{ '<|START_OF_TURN_TOKEN|><|' + ('CHATBOT' if m.role == 'assistant' else m.role | upper) + '_TOKEN|>' + (m.content | trim) + '<|END_OF_TURN_TOKEN|>' + (sequence_end if m.role == 'assistant' else '') }}{% endfor %}{% if add_generation_prompt %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% endif %}",
    bos: "<BOS_TOKEN>",
    eos: "<|END_OF_TURN_TOKEN|>",
  },
  {
    name: "granite",
    label: "Granite 3 and 4",
    docs: "https://www.ibm.com/granite/docs/use-cases/prompt-engineering",
    models: /granite-?[34]/,
    template: turns("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>\\n"),
    bos: "",
    eos: "<|end_of_text|>",
  },
];

/**
 * The form for models of an unknown family: a transcript, which every model can continue. Only the name of the next
 * speaker shows where the assistant's text ends.
 */
export const PLAIN_FAMILY: PromptFamily = {
  name: "plain",
  label: "Plain transcript",
  docs: "https://platform.openai.com/docs/api-reference/completions",
  models: /^$/,
  template:
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content + '\\n\\n' }}{% else %}{{ ('User: ' if m.role == 'user' else 'Assistant: ') + m.content + (sequence_end if m.role == 'assistant' else '') + '\\n\\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}",
  bos: "",
  eos: "",
  lead: " ",
  stop: ["\n\nUser:"],
};

/** Finds a family by its own name or by a model's name, with or without the owner. `null` when no family matches. */
export function findFamily(model: string): PromptFamily | null {
  const lower = model.toLowerCase();
  return (
    [...PROMPT_FAMILIES, PLAIN_FAMILY].find(({ name }) => name === lower) ??
    PROMPT_FAMILIES.find(({ models }) => models.test(lower)) ??
    null
  );
}
