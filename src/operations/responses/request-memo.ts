// What the answer needs to know of its request: the members that it repeats, and what the model's functions are called
// in the client's own tools. It can be sent to another thread.
import type { ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";

/** The type of tools that take any text, which models of chat completions are offered as functions. */
export const FREEFORM_TYPE = "custom";

/**
 * The end of the id of a call that the model made together with the one before it, and that the gateway has run. Nothing
 * else in the form says so, and a client sends the id back.
 */
export const TOGETHER = ".together";

/** What a function of the translated request is in the client's own tools. */
export interface ClientTool {
  readonly kind: "function" | "freeform" | "tool_search";
  readonly name: string;
  /** `null` for a tool that is in no namespace. */
  readonly namespace: string | null;
}

export interface RequestMemo {
  /** The model in the client's own words. */
  readonly model: string;
  /** The members of the answer object that repeat the request, with the defaults of those that were not sent. */
  readonly repeated: JsonObject;
  /** Functions that are not plain functions of the same name, by their name in the translated request. */
  readonly tools: ReadonlyMap<string, ClientTool>;
  /** The functions that may be called; `null` when the request does not restrict them. */
  readonly allowed: ReadonlySet<string> | null;
  /** The labels of those whose tools the request lists. */
  readonly listed: ReadonlySet<string>;
  /** Whether log probabilities are part of the answer. */
  readonly showsLogprobs: boolean;
  /** Whether reasoning items have what their provider needs back of them. */
  readonly showsCarriers: boolean;
  /** Whether the call goes on when its client has left. */
  readonly isBackground: boolean;
  /** Whether the client lets its response be kept. */
  readonly mayBeKept: boolean;
  /** The items that are kept with the answer; `null` when it is not kept. */
  readonly kept: KeptInput | null;
}

export interface KeptInput {
  /** Set for an input that no store would keep; it has no items then. */
  readonly isTooLarge?: true;
  readonly items: readonly JsonObject[];
  /** The indexes of items with a carrier that the client was not shown. */
  readonly hidden: readonly number[];
  /** For each item, the members that it has for being listed, and that the client has not written. */
  readonly supplied: readonly (readonly string[])[];
}

export function memoOf({ written }: ChatRequest): RequestMemo {
  return written!.memo as RequestMemo;
}
