// The tables of providers on the pages of operations whose answers are values for inputs, and of legacy completions.
import { providers } from "../../src/providers/registry.ts";
import { code, codeList, table } from "./markdown.ts";

/** Models of providers at which the form depends on the model; any other provider is asked for a model of any name. */
const SAMPLES: Readonly<Record<string, readonly string[]>> = {
  bedrock: [
    "amazon.titan-embed-text-v2:0",
    "cohere.embed-v4:0",
    "cohere.embed-english-v3",
    "amazon.nova-2-multimodal-embeddings-v1:0",
  ],
  vertex: ["text-embedding-005", "gemini-embedding-001", "gemini-embedding-2-preview"],
};

/** A row for each provider, or for each of its models that differ. */
export function embeddingProviders(): string {
  const rows = [...providers.values()].flatMap(({ id, label, tasks }) =>
    (SAMPLES[id] ?? [null]).flatMap((model) => {
      const form = tasks?.embeddings?.(model ?? "any") ?? null;
      if (form === null) return [];
      const takes = ["dimensions", "input_type", "user"].filter((name) => form.takes.has(name));
      return [
        [
          code(model === null ? id : `${id}:${model}`),
          `[${label}](${form.docs})`,
          form.mostInputs.toLocaleString("en"),
          codeList(takes) || "none",
        ],
      ];
    }),
  );
  return table(["provider", "page of the vendor", "inputs of one upstream request", "takes"], rows);
}

export function rerankProviders(): string {
  const rows = [...providers.values()].flatMap(({ id, label, tasks }) => {
    const form = tasks?.rerank?.(RERANKERS[id] ?? "any") ?? null;
    return form === null ? [] : [[code(id), `[${label}](${form.docs})`]];
  });
  return table(["provider", "page of the vendor"], rows);
}
const RERANKERS: Readonly<Record<string, string>> = { bedrock: "cohere.rerank-v3-5:0" };

/** A row for each provider whose models take raw prompts. */
export function rawPromptProviders(): string {
  const rows = [...providers.values()].flatMap((provider) => {
    const { id, label } = provider;
    const model = PROMPTED.find((name) => provider.rawPrompts?.(name, false) != null);
    if (model === undefined) return [];
    const { source, mostPrompts, takesTokens, takes } = provider.rawPrompts!(model, false)!;
    const beside = [
      ...(mostPrompts > 1 ? ["lists of prompts"] : []),
      ...(takesTokens ? ["token ids"] : []),
      ...[...takes].map(code),
    ];
    return [[code(id), MODELS_OF[id] ?? "all", `[${label}](${source})`, beside.join(", ") || "nothing"]];
  });
  return table(["provider", "models", "page of the vendor", "takes beside one text"], rows);
}
const PROMPTED = ["any", "gpt-3.5-turbo-instruct", "codestral-latest", "echo"];
const MODELS_OF: Readonly<Record<string, string>> = {
  openai: "`gpt-3.5-turbo-instruct`, `davinci-002`, `babbage-002`, and what was fine-tuned of them",
  azure: "deployments named like these models of OpenAI",
  deepseek: "all but `deepseek-reasoner`",
  mistral: "`codestral-…`",
  sandbox: "`echo`, `assistant`, `words-…`, `slow-…` and those that fail",
};
