// The program of the thread of long bodies, with the forms of all operations.
import { serveLongBodies } from "../chat/long-bodies/long-body-worker.ts";
import { CHAT_FORM } from "../chat/request/parse.ts";

serveLongBodies({ "chat.completions": CHAT_FORM });
