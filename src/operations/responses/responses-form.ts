// The form of requests of the Responses API.
import { translatedForm } from "../../chat/request/translated-form.ts";
import type { RequestForm } from "../../core/chat.ts";
import { responsesTranslator } from "./translate-request.ts";

/** The form without what is kept of earlier responses: a request that refers to some is refused. */
export const RESPONSES_FORM: RequestForm = translatedForm(responsesTranslator(null));
