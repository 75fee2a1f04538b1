// JSON text that a provider sent, in a response or an event. A text that exceeds a bound may be valid JSON: the error
// then names the bound and does not claim that the text is not JSON.
import type { Json } from "../core/json.ts";
import { parseJson } from "../wire/json.ts";
import { JsonError } from "../wire/json-error.ts";
import { MalformedAnswer } from "./provider.ts";

/** Throws MalformedAnswer. `fault` describes what is wrong with a text that is not JSON. */
export function parseSentJson(text: string, fault: (thrown: JsonError) => string): Json {
  try {
    return parseJson(text);
  } catch (thrown) {
    if (!(thrown instanceof JsonError)) throw thrown;
    throw new MalformedAnswer(
      thrown.beyond === null
        ? fault(thrown)
        : `The provider's answer exceeds a limit of the gateway: ${thrown.message}`,
    );
  }
}
