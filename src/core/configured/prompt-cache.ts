// The prompt cache of a vendor: whether a route or a project has the gateway use it, and how a model takes its marks.

/** `auto`: the gateway sets marks and keeps conversations together; `off` is what `false` says in the configuration. */
export type PromptCaching = "auto" | "off";

/** How a model takes marks of its vendor's prompt cache. */
export interface CacheMarks {
  /** The most marks that one request may have of the gateway. */
  readonly most: number;
  /** Whether a tool may have one. */
  readonly inTools: boolean;
  /** Whether a turn of the model may have one. */
  readonly inAnswers: boolean;
}
