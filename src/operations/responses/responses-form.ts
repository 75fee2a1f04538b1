// The form of requests of the Responses API.
import { translatedForm } from "../../chat/request/translated-form.ts";
import type { RequestForm } from "../../core/chat.ts";
import { RESPONSES_TRANSLATOR } from "./translate-request.ts";

export const RESPONSES_FORM: RequestForm = translatedForm(RESPONSES_TRANSLATOR);
