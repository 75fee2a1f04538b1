// Requests whose tokens are counted: they are never streamed and never translated, because a translation has no count.
import type { Untranslated } from "../core/chat.ts";
import type { OperationName } from "../core/operation.ts";
import type { Translator } from "../engine/request/translated-form.ts";

/** Returns the translator of such requests. `operation` is the path of the refusal where one would be translated. */
export function countTranslator(operation: OperationName, translator: Translator): Translator {
  const never: Untranslated = { path: operation, message: `${operation} is not translated.`, dropped: "never" };
  return {
    ...translator,
    translate({ stream: _stream, ...counted }) {
      const translation = translator.translate(counted);
      return { ...translation, untranslated: [never, ...translation.untranslated] };
    },
    counts: true,
  };
}
