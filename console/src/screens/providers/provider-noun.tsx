// What the console knows of configured providers. They belong to a tenant, and projects use those of their tenant.
import type { Noun } from "../../configured/noun.ts";
import { ProviderForm } from "./provider-form.tsx";

export const PROVIDER_NOUN: Noun = {
  plural: "providers",
  screen: "/providers",
  one: "provider",
  many: "Providers",
  command: "provider",
  operation: "Provider",
  template: "type: sandbox\n",
  purpose:
    "A provider answers calls to <provider>:<model_name>. Its type says how it is called, and its key is stored encrypted and never shown again.",
  columns: [],
  Form: ProviderForm,
};
