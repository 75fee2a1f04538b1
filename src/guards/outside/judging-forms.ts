// The forms of the requests to guard services that have an address of their own. Those of a provider's services are in
// its folder.
import type { AddressServiceType } from "../../core/configured/outside-guard.ts";
import type { ServiceAddress, ServiceForm } from "../../providers/judging-form.ts";
import { CONTENT_SAFETY } from "./content-safety.ts";
import { LAKERA } from "./lakera.ts";
import { OWN_REQUEST } from "./own-request.ts";
import { PRESIDIO } from "./presidio.ts";

export const SERVICE_FORMS: Readonly<Record<AddressServiceType, ServiceForm<ServiceAddress>>> = {
  request: OWN_REQUEST,
  presidio: PRESIDIO,
  content_safety: CONTENT_SAFETY,
  lakera: LAKERA,
};
