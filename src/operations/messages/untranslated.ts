// What a request of this form says that has no counterpart in a chat completion.
import { orNoted } from "../../engine/request/vendor-judged.ts";
import type { ClientDeviationName } from "../../core/configured/client-deviations.ts";
import type { Untranslated } from "../../core/chat.ts";

/** `what` is the subject of the sentence, such as "the tool type bash_20250124". */
export function asked(path: string, what: string): Untranslated {
  return {
    path,
    message: `${path}: ${what} has no counterpart where the Messages API is not spoken. Leave it out, or set x_gateway.drop_params to true to drop it.`,
    dropped: "asked",
  };
}

/** For content, which is never dropped. `cure` ends the sentence. */
export function never(path: string, what: string, cure: string): Untranslated {
  return {
    path,
    message: `${path}: ${what} has no counterpart where the Messages API is not spoken; ${cure}.`,
    dropped: "never",
  };
}

/** For advice that changes the cost of an answer and never what is asked. */
export function advice(path: string): Untranslated {
  return { path, message: `${path} has no counterpart where the Messages API is not spoken.`, dropped: "always" };
}

/** For advice that a named client sends by itself. */
export function deviating(path: string, what: string, deviation: ClientDeviationName): Untranslated {
  return { ...asked(path, what), dropped: "always", deviation };
}

/** Returns `otherwise` for what `translate` refuses as invalid, which is added to `left`. */
export function orLeft<T>(left: Untranslated[], otherwise: T, translate: () => T): T {
  return orNoted((part) => left.push(part), otherwise, translate);
}
