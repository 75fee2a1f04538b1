// The forms of requests of messages, and of counts of their tokens, without what answers them.
import { translatedForm } from "../../engine/request/translated-form.ts";
import { COUNT_TRANSLATOR, MESSAGES_TRANSLATOR } from "./translate-request.ts";

export const MESSAGES_FORM = translatedForm(MESSAGES_TRANSLATOR);

export const COUNT_FORM = translatedForm(COUNT_TRANSLATOR);
