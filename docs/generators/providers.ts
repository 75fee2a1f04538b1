// docs/providers.md: every provider with its capability table, as the code has it.
import type { Capability, CapabilityException } from "../../src/core/capability.ts";
import { type ListedCapability, listCapabilities } from "../../src/providers/interface/capability-listing.ts";
import type { Members } from "../../src/providers/conversation/conversation-members.ts";
import type { Provider } from "../../src/providers/interface/provider.ts";
import { cataloguedEmbeddings, cataloguedModels } from "../../src/accounting/model-catalogue.ts";
import { LISTED_OPERATIONS, operationsOf } from "../../src/http/model-operations.ts";
import { BUILT_IN_MODELS } from "../../src/providers/registry.ts";
import { runsInside } from "../../src/providers/settings.ts";
import { targetFor } from "../../test/harness/targets.ts";
import { code, codeList, generatedMark, table } from "./markdown.ts";

export function providersPage(providers: readonly Provider[]): string {
  const sorted = providers.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return `${[INTRODUCTION, overview(sorted), OPERATIONS_WORDS, operationsTable(sorted), ...sorted.map(section)].join("\n\n")}\n`;
}

const INTRODUCTION = `${generatedMark("src/providers/registry.ts")}
# Providers

A model is written \`<id>:<model_name>\`, with the provider's own name for the model: \`openai:gpt-5-mini\`, \`openrouter:meta-llama/llama-4-maverick\`. Some providers take one model under several names: \`gemini:models/gemini-3-flash\` is \`gemini:gemini-3-flash\`, \`vertex:google/gemini-3-flash\` is \`vertex:gemini-3-flash\`, \`ollama:llama3.2:latest\` is \`ollama:llama3.2\`, the ARN of a Bedrock model is the model's id, and Azure and Ollama ignore letter case: \`azure:GPT-4o\` is \`azure:gpt-4o\`. Policies, limits, drains and prices for the shorter name hold for the others too.
A provider is enabled by its key in the environment or by an entry in the configuration file: see [credentials.md](credentials.md).

The tables show what happens to each common parameter and content block:

| support | meaning |
| --- | --- |
| native | The provider supports it under OpenAI's name and in OpenAI's form. |
| mapped | The provider supports it under another name or in another form, which the note describes. |
| emulated | The gateway achieves the same effect by other means. |
| unsupported | A parameter is refused with 400 \`unsupported_parameter\`, or dropped if \`drop_params\` is true. \`user\`, \`safety_identifier\`, \`stream\` and \`stream_options\` are never refused, because the gateway handles them itself. A content block is always refused, with 400 \`unsupported_content_block\`. |

If a note names values or a range, others are refused with 400 \`unsupported_value\`. Some models differ from their provider: the first row under "By model" that names
the parameter and whose pattern matches the model's name decides. \`dragoman params <id>:<model_name>\` prints the result for one model.

Members of messages, content parts, tool calls and tools that a provider does not support are left out, regardless of \`drop_params\`, and reported in
\`x-gateway-dropped-params\` without their index: \`messages[].name\`, \`messages[].content[].cache_control\`, \`messages[].tool_calls[].extra_content\`. Each section lists
what its provider supports, beyond what every conversation has (role, content, tool calls and their ids).

"Checked" is the page against which a table was checked, and the date. A table that was not checked shows what the wire format specifies.`;

function overview(providers: readonly Provider[]): string {
  const rows = providers.map((provider) => {
    const { id, label, keyVariables, capabilities, sameShape } = provider;
    const [key = settingsOf(provider)[0]] = keyVariables;
    return [
      `[${code(id)}](#${anchorOf(id)})`,
      label,
      sameShape ? "OpenAI's" : "its own",
      key === undefined ? "none needed" : code(key),
      capabilities.verified === "unverified" ? "no" : capabilities.verified.date,
    ];
  });
  return table(["id", "name", "wire format", "key", "checked"], rows);
}

const OPERATIONS_WORDS = `**Operations.** Every provider of models that generate text serves chat completions, Responses and Messages; a dash means that the provider does not serve the operation. "native" means that the provider is sent what the client wrote ([native-operations.md](native-operations.md)),
"translated" that it is asked for a chat completion. Tokens are counted only where the provider does it. Legacy completions go to [models that take a raw prompt](completions.md). Embeddings and the like need models that are made for them. \`GET /api/v1/models\` and \`dragoman params\` say the same of one model.`;

function operationsTable(providers: readonly Provider[]): string {
  const rows = providers.map((provider) => {
    const models = samplesOf(provider);
    const listed = models.map((model) => operationsOf(provider, model, () => "row"));
    return [
      `[${code(provider.id)}](#${anchorOf(provider.id)})`,
      ...LISTED_OPERATIONS.map((name) => {
        if (name === "completions") return rawPromptsWord(provider);
        const found = listed.flat().filter((one) => one.name === name);
        const own = found.filter(({ native }) => native === true).length;
        if (found.length === 0) return "-";
        if (found[0]!.native === null) return "yes";
        return own === 0 ? "translated" : own === found.length ? "native" : "native for some models";
      }),
    ];
  });
  return table(["id", ...LISTED_OPERATIONS.map(code)], rows);
}

/** Whether all models of a provider take raw prompts, or some. */
function rawPromptsWord(provider: Provider): string {
  if (provider.rawPrompts?.("any", false) != null) return "yes";
  return PROMPTED.some((model) => provider.rawPrompts?.(model, false) != null) ? "some models" : "-";
}
/** Models that take raw prompts, each at its own providers. */
const PROMPTED = ["gpt-3.5-turbo-instruct", "codestral-latest", "echo"];

/** Models for which a provider is asked: those that are known, and one of each kind with any name. */
function samplesOf(provider: Provider): readonly string[] {
  const known = [...cataloguedModels(provider), ...cataloguedEmbeddings(provider)];
  return [...known, ...(known.length === 0 ? ["some-model"] : []), ...TASK_SAMPLES];
}

const TASK_SAMPLES = [
  "some-embedding-model",
  "text-embedding-005",
  "amazon.titan-embed-text-v2:0",
  "some-rerank-model",
  "some-moderation-model",
];

/** As the usual renderers make it of a heading that is the id alone. */
function anchorOf(id: string): string {
  return id.toLowerCase().replaceAll(/[^a-z0-9_-]/g, "");
}

function section(provider: Provider): string {
  const { exceptions } = provider.capabilities;
  const { parameters, content_blocks: blocks } = listCapabilities(provider.id, provider, null);
  const rows = (cells: readonly ListedCapability[]) =>
    cells.map((cell) => [code(cell.name), cell.support, detailsOf(cell)]);
  return [
    `## ${provider.id}`,
    facts(provider),
    table(["parameter", "support", "note"], rows(parameters)),
    table(["content block", "support", "note"], rows(blocks)),
    ...(exceptions.length === 0
      ? []
      : ["By model:", table(["model matches", "parameter", "support", "note"], exceptions.flatMap(exceptionRows))]),
  ].join("\n\n");
}

/** The settings with which the provider is called in place of a key. */
function settingsOf({ credentials }: Provider): readonly string[] {
  return credentials.filter((form) => form !== "key" && form !== "ibm_iam");
}

function keyWords(provider: Provider): string {
  const settings = settingsOf(provider);
  const named = [
    ...provider.keyVariables.map(code),
    ...settings.map((name) => `the credentials of ${code(name)} ([credentials.md](credentials.md))`),
  ];
  if (named.length > 0) return named.join(" or ");
  return runsInside(provider)
    ? "none needed"
    : "none needed; set `api_key` in the configuration if the server requires one";
}

function facts(provider: Provider): string {
  const {
    label,
    baseUrl,
    otherOrigins,
    docs,
    capabilities: { verified },
    dialect,
    reserved,
    privileged,
    otherwise,
  } = provider;
  const inside = runsInside(provider);
  const forms = [
    ["content blocks", dialect.blocks],
    ["tool types", dialect.tools],
    ["values of `tool_choice`", dialect.toolChoices],
    ["relaxed message rules", dialect.messageRules],
  ] as const;
  const own = forms
    .filter(([, words]) => words.length > 0)
    .map(([what, words]) => `${what}: ${words.includes("*") ? "any" : codeList(words)}`);
  const models = BUILT_IN_MODELS.get(provider.id);
  return [
    `${label}. [The vendor's page](${docs}).`,
    "",
    `- Address: ${inside ? "answers inside the gateway" : baseUrl === null ? "none by default; configure `base_url`" : code(baseUrl)}${otherOrigins === undefined ? "" : `; a \`base_url\` whose origin matches ${code(String(otherOrigins))} is the vendor's own too`}`,
    `- Key: ${keyWords(provider)}`,
    `- Checked: ${verified === "unverified" ? "no; taken from the wire format" : `${verified.date}, [source](${verified.source})`}`,
    ...(models === undefined ? [] : [`- Models: ${codeList(models.map(({ id }) => id))}`]),
    ...(own.length === 0 ? [] : [`- Beyond the common forms: ${own.join("; ")}`]),
    ...(otherwise === undefined ? [] : [`- By the Responses API: ${otherwise.note} [Source](${otherwise.source}).`]),
    `- Members of a conversation: ${conversationFacts(provider)}`,
    `- Refused as pass-through fields (\`reserved_parameter\`): ${codeList(reserved)}`,
    ...(privileged.size === 0
      ? []
      : [`- Pass-through fields that need the permission \`byo_endpoint\`: ${codeList(privileged)}`]),
  ].join("\n");
}

/** For a model that no exception of the provider's names. */
function conversationFacts(provider: Provider): string {
  const { source, messages, parts, calls, functions, tools, extraContent } = provider.conversation(
    targetFor(provider, { model: "some-model", baseUrl: provider.baseUrl ?? "", settings: {} }),
  );
  const named = (what: string, members: Members, usual: readonly string[] = []): readonly string[] => {
    const own = members === "any" ? ["any"] : [...members].filter((name) => !usual.includes(name));
    return own.length === 0 ? [] : [`${what}: ${members === "any" ? "any" : codeList(own)}`];
  };
  const told = [
    ...named("system", messages.system),
    ...named("user", messages.user),
    ...named("assistant", messages.assistant, ["tool_calls"]),
    ...named("tool", messages.tool, ["tool_call_id"]),
    ...[
      ...Map.groupBy(parts, ([, members]) =>
        JSON.stringify(members === "any" ? "any" : [...members].filter((name) => name !== "source")),
      ),
    ].flatMap(([, alike]) => named(`parts of type ${codeList(alike.map(([type]) => type))}`, alike[0]![1], ["source"])),
    ...named("calls", calls),
    ...named("tools", tools),
    ...named("functions of calls", functions, ["name", "arguments"]),
    ...(extraContent.length === 0 ? [] : [`${code("extra_content")} of ${codeList(extraContent)}`]),
  ];
  const isOpen = messages.assistant === "any";
  const words = isOpen
    ? `any member${extraContent.length === 0 ? ", but no `extra_content`" : `, and ${code("extra_content")} of ${codeList(extraContent)}`}`
    : told.length === 0
      ? "none beyond those that every conversation has"
      : told.join("; ");
  return `${words} ([source](${source}))`;
}

function exceptionRows({ models, cells }: CapabilityException): readonly (readonly string[])[] {
  return (Object.entries(cells) as readonly (readonly [string, Capability])[]).map(([feature, cell]) => [
    code(`/${models.source}/${models.flags}`),
    code(feature),
    cell.support,
    detailsOf(cell),
  ]);
}

function detailsOf({ note, values, range }: Capability | ListedCapability): string {
  return [
    ...(note == null ? [] : [note]),
    ...(values == null ? [] : [`takes ${codeList(values)}`]),
    ...(range == null ? [] : [`takes ${range[0]} to ${range[1]}`]),
  ].join("; ");
}
