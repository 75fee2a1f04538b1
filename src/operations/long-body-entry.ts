// The program of the thread of long bodies, with the forms of all operations.
import { serveLongBodies } from "../engine/long-bodies/long-body-worker.ts";
import { FORMS } from "./forms.ts";

serveLongBodies(FORMS);
