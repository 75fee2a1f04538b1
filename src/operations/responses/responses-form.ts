// The forms of requests of the Responses API, and of counts of their tokens, without what answers them.
import { parsedBody } from "../../engine/request/parse.ts";
import { translatedForm } from "../../engine/request/translated-form.ts";
import type { KeepingForm, RequestForm } from "../../core/chat.ts";
import {
  type EarlierResponses,
  earlierResponses,
  type FoundResponses,
  namedIn,
  NOTHING_EARLIER,
} from "./keeping/kept-responses.ts";
import { inputTokensTranslator, responsesTranslator } from "./request/translate-request.ts";

/** Without what is kept of earlier responses, a request that refers to some is refused. */
export const RESPONSES_FORM: RequestForm = {
  ...translatedForm(responsesTranslator(null)),
  keeping: keepingForm(responsesTranslator),
};

export const INPUT_TOKENS_FORM: RequestForm = {
  ...translatedForm(inputTokensTranslator(null)),
  keeping: keepingForm(inputTokensTranslator),
};

function keepingForm(translator: (earlier: EarlierResponses) => ReturnType<typeof responsesTranslator>): KeepingForm {
  const ofNone = translatedForm(translator(NOTHING_EARLIER));
  return {
    mayName(body) {
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      return WORDS.some((word) => bytes.includes(word));
    },
    namedIn: (text, bounds) => (names(text) ? namedIn(parsedBody(text, bounds).value) : null),
    formWith: (found) =>
      found === null ? ofNone : translatedForm(translator(earlierResponses(found as FoundResponses))),
  };
}

/** Nearly no body has one of these words, and to look for them takes a hundredth of the time that the expressions take. */
const WORDS = ['previous_response_id"', 'item_reference"', '"rs_'] as const;
const REFERENCE = /"(?:previous_response_id"\s*:\s*"|item_reference")/;
/** The beginning of the id of a reasoning item, another item that has such content, and the content. */
const REASONING = /"rs_/g;
const COMPACTION = /"type"\s*:\s*"compaction"/g;
const ENCRYPTED = /"encrypted_content"\s*:\s*"(?!")/g;

/** A reasoning item without its content refers to what is kept of it. */
function names(text: string): boolean {
  if (REFERENCE.test(text)) return true;
  const items = countOf(REASONING, text);
  return items > 0 && items + countOf(COMPACTION, text) > countOf(ENCRYPTED, text);
}

function countOf(word: RegExp, text: string): number {
  return text.match(word)?.length ?? 0;
}
