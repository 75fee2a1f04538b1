// The form of requests of this operation, without what answers them.
import { translatedForm } from "../../chat/request/translated-form.ts";
import { messagesTranslator } from "./translate-request.ts";

export const MESSAGES_FORM = translatedForm(messagesTranslator(true));
