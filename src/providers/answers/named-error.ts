// Reads the errors of vendors that have a form of their own. Proxies in front of a vendor have other forms: a bare
// string, a list with one error, and the error under another name.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { ErrorAnswer, FailureClass } from "../interface/upstream-failure.ts";
import { describeErrorBody, filled, JUDGED_CHARACTERS, readErrorJson } from "./error-body.ts";

/**
 * `within` returns the error inside the outer object, if it is not that object. `messages` are names of its message. The
 * result has the message, or a sentence about a body without one, short enough for patterns; the object that holds it,
 * which is empty when the body is a bare text or not JSON; and the object around that, or the same object.
 */
export function readNamedError(
  { status, body }: ErrorAnswer,
  within: (outer: JsonObject) => Json | undefined,
  messages: readonly string[],
) {
  const sent = onlyOf(readErrorJson(body));
  const outer = isObject(sent) ? sent : {};
  const error = onlyOf(within(outer) ?? sent);
  const held = isObject(error) ? error : {};
  const message =
    typeof error === "string" ? filled(error) : filled(messages.map((name) => held[name]).find((text) => filled(text)));
  return { text: (message ?? describeErrorBody(status, body)).slice(0, JUDGED_CHARACTERS), error: held, outer };
}

function onlyOf(value: Json | undefined): Json | undefined {
  return Array.isArray(value) ? (value as readonly Json[])[0] : value;
}

/** A text that states more than the class under which it is sent. */
export interface TextRule {
  readonly under: readonly FailureClass[];
  readonly text: RegExp;
  readonly class: FailureClass;
}

/** The first rule that matches decides. */
export function refinedClass(first: FailureClass, text: string, rules: readonly TextRule[]): FailureClass {
  const judged = text.slice(0, JUDGED_CHARACTERS);
  return rules.find((rule) => rule.under.includes(first) && rule.text.test(judged))?.class ?? first;
}
