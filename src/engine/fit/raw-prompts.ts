// Raw prompts: each message of the request is one, and goes out without roles and templates. A target takes them where the
// row of its provider says so, at an endpoint of its own.
import { memoizePerObject } from "../../core/memoization.ts";
import { invalidRequest } from "../../core/refusals.ts";
import { PLAIN_DIALECT } from "../../providers/interface/dialect.ts";
import type { Provider, RawPrompts } from "../../providers/interface/provider.ts";

/**
 * Returns how a model is asked with raw prompts. `isSet` says that the operator has named it as one that takes them.
 * Throws `invalid_request` where it is not known to take any.
 */
export function rawPromptsOf(provider: Provider, model: string, isSet: boolean): RawPrompts {
  const raw = provider.rawPrompts?.(model, isSet) ?? null;
  if (raw !== null) return raw;
  throw invalidRequest(
    "model",
    `${provider.label} takes no raw prompts with the model ${JSON.stringify(model)}, or the gateway does not know of them. Send the prompt as a message to POST /api/v1/chat/completions, or name a model of which GET /api/v1/models lists the operation completions.`,
  );
}

/** The provider with its endpoint for raw prompts in place of its chat completions. */
export const rawPromptProvider = memoizePerObject((provider: Provider) =>
  memoizePerObject(({ source: docs, ...raw }: RawPrompts): Provider => {
    const members = Object.entries(provider).filter(([name]) => !OF_CONVERSATIONS.has(name));
    const { framing, capabilities, reserved } = raw;
    return {
      ...(Object.fromEntries(members) as unknown as Provider),
      docs,
      framing,
      capabilities,
      reserved,
      dialect: PLAIN_DIALECT,
      conversation: (target) => raw.conversation(target),
      sameShape: false,
      inlines: () => NOTHING,
      encodeRequest: (request, target) => raw.encodeRequest(request, target),
      decodeResponse: (body, context, value) => raw.decodeResponse(body, context, value),
      openStream: (context) => raw.openStream(context),
      classifyError: (answer) => raw.classifyError(answer),
    };
  }),
);
const OF_CONVERSATIONS: ReadonlySet<string> = new Set([
  "followUp",
  "leavesOutEmpty",
  "dialectOf",
  "native",
  "tasks",
  "rawPrompts",
]);
const NOTHING: ReadonlySet<never> = new Set();

/** Returns the provider as it answers raw prompts; one that only answers them is returned as it is. */
export function answeringPrompts(provider: Provider, model: string): Provider {
  const raw = provider.rawPrompts?.(model, true) ?? null;
  return raw === null ? provider : rawPromptProvider(provider)(raw);
}
