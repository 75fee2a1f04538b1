// What the gateway does otherwise for requests that a named client program sends by itself, although its user did not ask
// for it (promise 12.14). Each can be switched off in the settings of the gateway, a tenant or a project.

export interface ClientDeviation {
  /** The program whose requests are meant. They are recognized by what they hold, never by the program's name. */
  readonly client: string;
  /** What the program sends or reads. */
  readonly sends: string;
  readonly gateway: string;
  /** What happens where the deviation is switched off. */
  readonly otherwise: string;
  /** A page that says what the program does. */
  readonly source: string;
}

export const CLIENT_DEVIATIONS = {
  default_search_tool: {
    client: "Codex CLI",
    sends: "the tool `web_search` with `external_web_access`, in each request to `/responses`",
    gateway: "Where a provider cannot run the tool, or may not, it is left out and named as dropped.",
    otherwise: "The call is refused, unless `drop_params` is set.",
    source: "https://developers.openai.com/codex/config-reference",
  },
  default_model_settings: {
    client: "Codex CLI",
    sends:
      "`text.verbosity`, `parallel_tool_calls` and `reasoning.context` of the models that it knows, with `client_metadata`, in each request to `/responses`",
    gateway: "Where a provider has no place for them, they are left out and named as dropped.",
    otherwise: "The call is refused, unless `drop_params` is set.",
    source: "https://github.com/openai/codex",
  },
  client_version_listing: {
    client: "Codex CLI",
    sends: "`GET /models?client_version=...`, and reads a form of its own",
    gateway: "The list is empty in that form, because an entry would replace the program's own instructions.",
    otherwise: "The list has the form that clients of chat completions read.",
    source: "https://github.com/openai/codex",
  },
  default_context_edits: {
    client: "Claude Code",
    sends: "`context_management` with edits of types that begin with `clear_`, in each request to `/messages`",
    gateway: "Where the Messages API is not spoken, the member is left out and named as dropped.",
    otherwise: "The call is refused, unless `drop_params` is set.",
    source: "https://code.claude.com/docs/en/llm-gateway-protocol",
  },
  capability_words: {
    client: "Claude Code",
    sends:
      "a request to `/messages` again without a feature, where an error is `capability_rejected: <class>` and nothing else",
    gateway: "The refusal of such a feature is that word alone; `x-gateway-error-message` explains it.",
    otherwise: "The message of the error explains it.",
    source: "https://code.claude.com/docs/en/llm-gateway-protocol",
  },
} as const satisfies Readonly<Record<string, ClientDeviation>>;

export type ClientDeviationName = keyof typeof CLIENT_DEVIATIONS;

export const CLIENT_DEVIATION_NAMES = Object.keys(CLIENT_DEVIATIONS) as readonly ClientDeviationName[];

/** What a scope sets; a deviation that no scope sets is on. */
export type ClientDeviationSettings = Readonly<Partial<Record<ClientDeviationName, boolean>>>;

/** `scopes` begin with the narrowest one, which decides. */
export function deviates(
  name: ClientDeviationName,
  scopes: readonly ({ readonly clientDeviations?: ClientDeviationSettings } | undefined)[],
): boolean {
  for (const scope of scopes) {
    const set = scope?.clientDeviations?.[name];
    if (set !== undefined) return set;
  }
  return true;
}
