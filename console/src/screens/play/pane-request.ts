// What the tabs of a pane know of the call that it would send.
import type { JsonObject } from "./play-request.ts";
import type { ListedModel } from "./use-models.ts";

export interface PaneRequest {
  /** What a call of this pane would send; null while the text is no request. */
  readonly body: JsonObject | null;
  readonly projectId: string | null;
  readonly tenantId: string | null;
  readonly models: readonly ListedModel[];
  /** Grows with each wish for an explanation. */
  readonly explained: number;
  readonly explain: () => void;
}
