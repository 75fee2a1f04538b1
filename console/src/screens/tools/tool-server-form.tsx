// The form of a tool server. Its headers and its OAuth client may hold secrets, and are written in the YAML.
import { ChoiceField, LinesField, NumberField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";

export function ToolServerForm(props: FormProps) {
  return (
    <div className="object-form">
      <TextField {...props} label="Address" path={["url"]} />
      <TextField {...props} label="Description" path={["description"]} />
      <div className="form-row">
        <ChoiceField
          {...props}
          label="Transport"
          path={["transport"]}
          choices={["auto", "streamable_http", "sse"]}
          unset="auto, the default"
        />
        <ChoiceField
          {...props}
          label="Approval of calls"
          path={["require_approval"]}
          choices={["always", "never"]}
          unset="always, the default"
        />
      </div>
      <LinesField {...props} label="Allowed tools, one in each line" path={["allowed_tools"]} hint="Empty means all." />
      <div className="form-row">
        <ChoiceField
          {...props}
          label="Lowest role that may use it"
          path={["role"]}
          choices={["developer", "maintainer", "admin", "owner"]}
          unset="all who may make calls"
        />
        <NumberField {...props} label="Time limit of a call (s)" path={["timeout_s"]} />
        <NumberField {...props} label="Calls at the same time" path={["max_concurrent"]} />
      </div>
    </div>
  );
}
