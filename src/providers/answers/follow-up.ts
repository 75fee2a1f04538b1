// What some providers need after the first response: further requests until there is an answer.
import type { UpstreamRequest } from "../../wire/upstream.ts";

/**
 * A further upstream request that is needed before there is an answer: the next poll of a job, or the stream of a job
 * that was created.
 */
export interface FollowUp {
  /**
   * Unsigned. It goes to the host of the first request or to a host that the provider's own code names, never to a host
   * that an upstream response names.
   */
  readonly request: UpstreamRequest;
  readonly waitMs: number;
  /** The request that ends the job when its answer is no longer needed. Unsigned, to the same hosts. */
  readonly ending?: UpstreamRequest;
}
