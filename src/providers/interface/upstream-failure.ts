// What becomes of a request that did not succeed: how a provider refused or failed, in a response of its own, in a stream,
// or in a response that violates the protocol.
import type { Usage } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { strictUsage } from "../answers/strict-usage.ts";

/** Why a provider refused or failed. The class decides the status and whether the call is retried (promise 7.8). */
export type FailureClass =
  | "authentication"
  | "permission"
  | "not_found"
  /** Something that lives at the vendor and that the request names, other than the model. */
  | "reference"
  | "rate_limit"
  | "quota"
  | "context_length"
  | "content_policy"
  | "invalid_request"
  | "overloaded"
  | "server"
  | "timeout";

export interface UpstreamFailure {
  readonly class: FailureClass;
  /** The provider's own message, or the gateway's when the provider sent none. */
  readonly message: string;
  /** The field that the provider named. */
  readonly param: string | null;
  /** The provider's own code or type, for the record. */
  readonly nativeCode: string | null;
  /** How long the provider asks to wait, when its body says so and no header does. */
  readonly retryAfterMs?: number;
  /** Of a rate limit: this one request is larger than what the limit ever allows, and smaller ones are served. */
  readonly isOfRequest?: true;
}

/** Why a request was refused that is larger than what a rate limit ever allows. */
export class RequestBeyondLimit extends Error {}

export interface ErrorAnswer {
  /** The HTTP status. For an error inside a 200 it is the status that the error itself names, or else 200. */
  readonly status: number;
  /** The body, or the data of the event that carried the error. */
  readonly body: string;
}

/** An error that came inside a stream or inside a 200. */
export class StreamError extends Error {
  readonly failure: UpstreamFailure;
  /** The usage that the provider reported with the error, in the terms of chat completions; `null` where it reported none. */
  counted: Usage | null = null;
  constructor(failure: UpstreamFailure) {
    super(failure.message);
    this.name = "StreamError";
    this.failure = failure;
  }
}

/** A response that violates the protocol. The fault is the provider's or a proxy's, and the client gets status 502. */
export class MalformedAnswer extends Error {
  /** What the provider counted for the answer to a task all the same; `null` where it told nothing. */
  readonly told: ToldUsage | null;
  /** The usage that a chat answer reports all the same, in the terms of chat completions; `null` where it reports none. */
  counted: Usage | null = null;
  constructor(message: string, told: ToldUsage | null = null) {
    super(message);
    this.name = "MalformedAnswer";
    this.told = told;
  }
}

/** Returns what `read` does. A failure that it throws carries the usage that the answer reports. */
export function withCounted<T>(usage: () => JsonObject | null | undefined, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof StreamError || thrown instanceof MalformedAnswer) thrown.counted ??= strictUsage(usage());
    throw thrown;
  }
}

/** What a provider tells of the usage of a task. */
export interface ToldUsage {
  /** What it counted; `null` where it tells nothing. */
  readonly tokens: number | null;
  /** What the vendor says it bills, where it does not bill tokens. */
  readonly searchUnits?: number;
}
