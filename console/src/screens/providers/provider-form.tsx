// The form of a provider. Credentials of clouds, of which there are many forms, are written in the YAML.
import { LinesField, SecretField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";

export function ProviderForm(props: FormProps) {
  return (
    <div className="object-form">
      <div className="form-row">
        <TextField {...props} label="Type" path={["type"]} hint="Whose models these are; empty means as the name." />
        <SecretField {...props} label="Key" path={["api_key"]} hint="Stored encrypted, and never shown again." />
      </div>
      <TextField {...props} label="Address" path={["base_url"]} hint="Empty means the vendor's own." />
      <LinesField
        {...props}
        label="Models that are listed, one in each line"
        path={["models"]}
        hint="Empty means those of the built-in list, if the address is the vendor's own. Others can be called too."
      />
    </div>
  );
}
