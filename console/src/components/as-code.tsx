// What a screen or a dialog does, as a command and as a request of the admin API: both can be copied.
import { commandOf, type ShownRequest } from "../api/command-of.ts";
import { gatewayAddress } from "../console-path.ts";
import { shellQuoted } from "../format/shell-quoted.ts";
import { visibleText } from "../format/visible-text.ts";
import { CopyButton } from "./copy-button.tsx";
import { Menu } from "./menu.tsx";

interface AsCodeProps extends ShownRequest {
  /** Where it is not the one of the request. */
  readonly command?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

export function AsCode({ command, headers = NO_HEADERS, ...request }: AsCodeProps) {
  const shown: Readonly<Record<string, string | null>> = {
    "As command": command ?? commandOf(request),
    "As API": curlOf(request, headers),
  };
  return (
    <Menu label="As code" side="end">
      {() => (
        <div className="as-code">
          {Object.entries(shown).flatMap(([title, text]) =>
            text === null
              ? []
              : [
                  <div key={title}>
                    <h2>{title}</h2>
                    <pre className="code">{visibleText(text)}</pre>
                    <CopyButton label="Copy" text={text} />
                  </div>,
                ],
          )}
        </div>
      )}
    </Menu>
  );
}

function curlOf({ method = "GET", path, body }: ShownRequest, headers: Readonly<Record<string, string>>): string {
  const sent = { ...headers, ...(body !== undefined && { "content-type": "application/json" }) };
  const parts = [
    ...(method === "GET" ? [] : ["-X", method]),
    ...Object.entries(sent).flatMap(([name, value]) => ["-H", `${name}: ${value}`]),
    ...(body === undefined ? [] : ["-d", JSON.stringify(body)]),
    `${gatewayAddress()}/api${path}`,
  ];
  return `curl -H "Authorization: Bearer $DRAGOMAN_TOKEN" ${parts.map(shellQuoted).join(" ")}`;
}
