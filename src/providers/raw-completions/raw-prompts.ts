// Makes of an endpoint what a provider needs to be asked with raw prompts (promise 12.10): they go out as the client sent
// them, and the row's wire form decodes the answer.
import {
  type Capability,
  type CapabilityTable,
  type Feature,
  mapped,
  NATIVE,
  UNSUPPORTED,
} from "../../core/capability.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { Json } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { conversationMembers } from "../conversation/conversation-members.ts";
import { answerRules } from "../openai-compatible/answer-rules.ts";
import { RESERVED } from "../openai-compatible/provider.ts";
import { type EncodedRequest, jsonPost } from "../interface/encoded-request.ts";
import type { RawPrompts } from "../interface/provider.ts";
import { taskMemoOf, textsOrTokens } from "../tasks/task.ts";
import { withExtra } from "./body.ts";
import type { PromptEndpoint, PromptMember, PromptsOf, SentPrompt } from "./row.ts";

/** Bounds a request to any vendor; the operation's own bound is far below. */
const SEVERAL = 2048;
const MEMBERS: ReadonlySet<string> = new Set<PromptMember>(["echo", "suffix", "best_of"]);

/** `of` are the models of another provider; absent for those of the endpoint's own. */
export function rawPromptsAt(own: PromptEndpoint, of?: PromptsOf): RawPrompts {
  const endpoint = of?.address === undefined ? own : { ...own, address: of.address };
  const { form, prompts, docs } = endpoint;
  const rules = answerRules({ errors: errorsOf(endpoint) });
  const members = conversationMembers({ source: docs });
  return {
    source: docs,
    isAlone: of?.alone === true,
    mostPrompts: prompts.several === true ? SEVERAL : 1,
    takesTokens: prompts.tokens === true,
    takes: new Set(prompts.takes),
    framing: form.framing,
    capabilities: capabilityTable(endpoint),
    conversation: () => members,
    reserved: new Set([...RESERVED, ...form.reserved].filter((name) => !MEMBERS.has(name))),
    encodeRequest: (request, target) =>
      encoded(endpoint, request, target, { text: "", stop: [], raw: rawOf(request, prompts) }),
    ...form.decoders(rules),
    classifyError: rules.errors.classify,
  };
}

/** Returns one prompt as such where the client sent no list, or the endpoint takes none. */
function rawOf(request: ChatRequest, { several }: PromptEndpoint["prompts"]): Json {
  const prompts = textsOrTokens(request);
  return taskMemoOf(request).isSingle || several !== true ? prompts[0]! : prompts;
}

export function errorsOf({ errors = [], form }: PromptEndpoint): NonNullable<PromptEndpoint["errors"]> {
  return [...errors, ...(form.errors ?? [])];
}

/** Returns the request with what passes through. */
export function encoded(
  endpoint: PromptEndpoint,
  request: ChatRequest,
  target: Target,
  prompt: SentPrompt,
): Pick<EncodedRequest, "request" | "memo"> {
  const { form } = endpoint;
  const { url, body, memo } = form.encode(endpoint, request, target, prompt);
  const address = endpoint.address?.(target, request) ?? url;
  const whole = withExtra({ ...body, ...endpoint.model?.(target, request) }, request.extra, form.reservedInside);
  return { request: jsonPost(address, target.headers, whole), memo };
}

export function capabilityTable({
  form,
  lacks = [],
  cells = {},
  jsonOutput,
  verified,
}: PromptEndpoint): CapabilityTable {
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
