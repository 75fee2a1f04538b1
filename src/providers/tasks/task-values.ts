// The values of tasks as providers' decoders return them.
import type { JsonObject } from "../../core/json.ts";

/** The numbers of a vector as they were sent: those of a list are kept with all their digits. */
export type Vector = Float64Array | Float32Array;

/** The values of each task. */
export interface TaskValues {
  readonly embeddings: Vector;
  readonly rerank: RankedDocument;
  readonly moderations: JsonObject;
}

export interface RankedDocument {
  readonly index: number;
  /** The provider's own figure. */
  readonly score: number;
}
