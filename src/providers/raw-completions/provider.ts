// Makes a Provider from a row: the conversation becomes one prompt, and the row's wire form encodes the request and
// decodes the answer.
import { answerRules } from "../openai-compatible/answer-rules.ts";
import { BEARER, keySigner } from "../credentials/key-header.ts";
import { RESERVED } from "../openai-compatible/provider.ts";
import { mappedNames, type WirePlaces } from "../interface/encoded-request.ts";
import { PROMPT_PARAMETERS } from "../conversation/prompt-parameters.ts";
import { joinedPrompt, PROMPT_MEMBERS, promptOf } from "../prompt-template/prompt.ts";
import { PLAIN_PROVIDER, type Provider } from "../interface/provider.ts";
import { declaredBy } from "../interface/provider-declaration.ts";
import { capabilityTable, encoded, errorsOf, rawPromptsAt } from "./raw-prompts.ts";
import type { CompletionRow } from "./row.ts";

const PLACES: WirePlaces = PROMPT_PARAMETERS.map((name) => [name, "the prompt"]);

export function completionProvider(row: CompletionRow): Provider {
  const { form } = row;
  const rules = answerRules({ errors: errorsOf(row) });
  const raw = rawPromptsAt(row);
  const start = { serverAddsBos: row.bosInPrompt !== true };
  return {
    ...PLAIN_PROVIDER,
    ...declaredBy(row),
    framing: form.framing,
    capabilities: capabilityTable(row),
    conversation: () => PROMPT_MEMBERS,
    reserved: new Set([...RESERVED, ...form.reserved]),
    encodeRequest(request, target) {
      const prompt = promptOf(request, target.model, start);
      return {
        ...encoded(row, request, target, prompt),
        mapped: mappedNames(request.params, PLACES),
      };
    },
    joinedTexts: (request, target) => [joinedPrompt(request, target.model, start)],
    rawPrompts: () => raw,
    sign: keySigner(BEARER),
    ...form.decoders(rules),
    classifyError: rules.errors.classify,
  };
}
