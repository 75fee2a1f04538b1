// What was said in a call, as the admin API shows it to who may read it.
import type { JsonObject } from "../play/play-request.ts";

export interface CallContent {
  readonly messages?: readonly JsonObject[];
  readonly tools?: readonly JsonObject[];
  /** Turns of earlier rounds, whose tools the gateway ran. */
  readonly rounds?: readonly JsonObject[];
  readonly answers?: readonly JsonObject[];
  readonly left_out?: { readonly messages: number; readonly tools: number; readonly answer_cut: boolean };
}
