// What passes of a provider's response beside the answer, where the provider speaks the operation of the call: the
// headers that its row lists, and its own refusal of the request (promises 12.3 and 12.6).
import type { GatewayError } from "../../core/errors.ts";
import type { NativeOperation } from "../../providers/interface/native-operation.ts";
import type { Target } from "../../core/target.ts";
import { meaningOf } from "../../routing/plan/verdict.ts";
import type { UpstreamResponse } from "../../wire/upstream.ts";
import type { OpenAttempt } from "../attempt/run-attempt.ts";
import { MAX_SEARCHED_CHARACTERS, redacted } from "../attempt/upstream-errors.ts";
import { isJsonObject } from "../../core/json.ts";

/** Agents read the wording of these, and change their next request by it. */
const PASSED_STATUSES: ReadonlySet<number> = new Set([400, 413]);
const HEADER_VALUE = /^[\x20-\x7e]{1,1024}$/;

/** Returns the error with the provider's own body, if that is passed on. */
export function passedRefusal(
  error: GatewayError,
  status: number,
  text: string,
  native: NativeOperation,
  target: Target,
): GatewayError {
  const body = native.refusalIn === undefined ? text : (native.refusalIn(text) ?? "");
  const isThreads = native.keepsThreads === true && error.code === "unknown_reference";
  if (
    !(isThreads || PASSED_STATUSES.has(status)) ||
    meaningOf(error.code).passes !== true ||
    body.length > MAX_SEARCHED_CHARACTERS
  )
    return error;
  const clean = redacted(body, target);
  return isJsonObject(clean) ? error.withPassed({ status, body: clean }) : error;
}

/** Returns the headers of the response that the row lists, without keys and addresses of the gateway. */
export function passedHeaders(
  response: UpstreamResponse,
  { fitted: { native }, resolved: { target } }: Pick<OpenAttempt, "fitted" | "resolved">,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const name of native?.answerHeaders ?? []) {
    const value = response.header(name);
    if (value != null && HEADER_VALUE.test(value) && redacted(value, target) === value) headers[name] = value;
  }
  return headers;
}
