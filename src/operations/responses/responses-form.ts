// The forms of requests of the Responses API, and of counts of their tokens, without what answers them.
import { translatedForm } from "../../engine/request/translated-form.ts";
import type { RequestForm } from "../../core/chat.ts";
import { inputTokensTranslator, responsesTranslator } from "./request/translate-request.ts";

/** The form without what is kept of earlier responses: a request that refers to some is refused. */
export const RESPONSES_FORM: RequestForm = translatedForm(responsesTranslator(null));

export const INPUT_TOKENS_FORM: RequestForm = translatedForm(inputTokensTranslator(null));
