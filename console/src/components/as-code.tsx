// What a screen shows as a command and as a request of the admin API: both can be copied.
import { gatewayAddress } from "../console-path.ts";
import { shellQuoted } from "../format/shell-quoted.ts";
import { visibleText } from "../format/visible-text.ts";
import { CopyButton } from "./copy-button.tsx";
import { Menu } from "./menu.tsx";

interface AsCodeProps {
  /** Such as `dragoman logs --project site`. */
  readonly command: string;
  /** The path of the request, as the console asks it: `/v1/admin/...`. */
  readonly path: string;
}

export function AsCode({ command, path }: AsCodeProps) {
  const request = `curl -H "Authorization: Bearer $DRAGOMAN_TOKEN" ${shellQuoted(`${gatewayAddress()}/api${path}`)}`;
  return (
    <Menu label="As code" side="end">
      {() => (
        <div className="as-code">
          {Object.entries({ "As command": command, "As API": request }).map(([title, text]) => (
            <div key={title}>
              <h2>{title}</h2>
              <pre className="code">{visibleText(text)}</pre>
              <CopyButton label="Copy" text={text} />
            </div>
          ))}
        </div>
      )}
    </Menu>
  );
}
