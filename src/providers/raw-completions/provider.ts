// Makes a Provider from a row: the conversation becomes one prompt, and the row's wire form encodes the request and
// decodes the answer.
import {
  type Capability,
  type CapabilityTable,
  type Feature,
  mapped,
  NATIVE,
  UNSUPPORTED,
} from "../../core/capability.ts";
import { answerRules } from "../openai-compatible/answer-rules.ts";
import { BEARER, keySigner } from "../key-header.ts";
import { RESERVED } from "../openai-compatible/provider.ts";
import { PROMPT_PARAMETERS } from "../prompt-parameters.ts";
import { PROMPT_MEMBERS, promptOf } from "../prompt-template/prompt.ts";
import { PLAIN_DIALECT, PLAIN_PROVIDER, type Provider } from "../provider.ts";
import { withExtra } from "./body.ts";
import type { CompletionRow } from "./row.ts";

export function completionProvider(row: CompletionRow): Provider {
  const { form } = row;
  const rules = answerRules({ errors: [...(row.errors ?? []), ...(form.errors ?? [])] });
  return {
    ...PLAIN_PROVIDER,
    id: row.id,
    label: row.label,
    ...(row.vendor !== undefined && { vendor: row.vendor }),
    docs: row.docs,
    baseUrl: row.baseUrl,
    baseUrlVariables: row.baseUrlVariables ?? [],
    keyVariables: row.keyVariables,
    framing: form.framing,
    capabilities: capabilityTable(row),
    dialect: PLAIN_DIALECT,
    conversation: () => PROMPT_MEMBERS,
    sameShape: false,
    reserved: new Set([...RESERVED, ...form.reserved]),
    encodeRequest(request, target) {
      const prompt = promptOf(request, target.model, { serverAddsBos: row.bosInPrompt !== true });
      const { url, body, memo } = form.encode(row, request, target, prompt);
      const mappedNames = PROMPT_PARAMETERS.filter((name) => request.params[name] !== undefined).map(
        (name) => `${name} -> the prompt`,
      );
      return {
        request: {
          url,
          headers: { ...target.headers, "content-type": "application/json" },
          body: JSON.stringify(withExtra(body, request.extra, form.reservedInside)),
        },
        memo,
        ...(mappedNames.length > 0 && { mapped: mappedNames }),
      };
    },
    sign: keySigner(BEARER),
    ...form.decoders(rules),
    classifyError: rules.errors.classify,
  };
}

function capabilityTable({ form, lacks = [], cells = {}, jsonOutput, verified }: CompletionRow): CapabilityTable {
  const lacking: Partial<Record<Feature, Capability>> = Object.fromEntries(
    lacks.map((feature) => [feature, UNSUPPORTED]),
  );
  const json =
    jsonOutput === undefined
      ? {}
      : {
          response_format: jsonOutput === "response_format" ? NATIVE : mapped("only the schema of json_schema is sent"),
        };
  return {
    cells: { ...form.cells, ...json, ...lacking, ...cells },
    exceptions: [],
    verified: verified ?? "unverified",
  };
}
