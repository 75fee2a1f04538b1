// The form of the requests to each type of guard service.
import type { GuardServiceType } from "../../core/configured/outside-guard.ts";
import { OWN_REQUEST } from "./own-request.ts";
import { PRESIDIO } from "./presidio.ts";
import type { ServiceForm } from "./judging-form.ts";

export const SERVICE_FORMS: Readonly<Record<GuardServiceType, ServiceForm>> = {
  request: OWN_REQUEST,
  presidio: PRESIDIO,
};
