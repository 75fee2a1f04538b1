// What the thread that serves calls knows of a body that another thread holds, in the form of an operation other than
// chat completions (promise 5.8). It suffices to judge whether a target that speaks the operation may be sent the body.

export interface HeldBody {
  /** The names of all members. */
  readonly names: readonly string[];
  /** The names of the members that are null. */
  readonly unset: readonly string[];
  readonly tools: readonly NotedTool[];
  /** Whether reasoning or a carrier of it stands in it. */
  readonly hasReasoning: boolean;
  /** The words by which the body uses features that a header lists. */
  readonly uses: readonly string[];
}

/** A tool that may need the operator's consent or a permission. */
export interface NotedTool {
  /** The index in the member `tools`. */
  readonly index: number;
  /** As far as it can be the name of a type; null where it is no string. */
  readonly type: string | null;
  /** Whether a vendor runs it. */
  readonly isHosted: boolean;
  /** The first of its members that needs a permission; null where there is none. */
  readonly privileged: string | null;
}
