// What a screen or a dialog does, as a command and as a request of the admin API: both can be copied.
import { commandOf, type ShownRequest } from "../api/command-of.ts";
import { gatewayAddress } from "../console-path.ts";
import { shellQuoted } from "../format/shell-quoted.ts";
import { visibleText } from "../format/visible-text.ts";
import { CopyButton } from "./copy-button.tsx";
import { Menu } from "./controls/menu.tsx";

export function AsCode(request: ShownRequest) {
  return (
    <Menu label="As code" side="end">
      {() => (
        <div className="as-code">
          <Forms request={request} />
        </div>
      )}
    </Menu>
  );
}

interface ActionsAsCodeProps {
  /** What they are about, read out behind the label: `of the user ann`. */
  readonly of: string;
  /** The requests by what they do: `End the session`. */
  readonly actions: Readonly<Record<string, ShownRequest | null>>;
}

/** The same for what can be done with a row or by a form, where there may be several things. Those that are null cannot be done. */
export function ActionsAsCode({ of, actions }: ActionsAsCodeProps) {
  const shown = Object.entries(actions).filter((entry): entry is [string, ShownRequest] => entry[1] !== null);
  if (shown.length === 0) return null;
  return (
    <Menu
      label={
        <>
          As code<span className="unseen"> {visibleText(of)}</span>
        </>
      }
      side="end"
      isLazy
    >
      {() => (
        <div className="as-code">
          {shown.map(([title, request]) => (
            <section key={title}>
              <h2 className="action">{visibleText(title)}</h2>
              <Forms request={request} />
            </section>
          ))}
        </div>
      )}
    </Menu>
  );
}

function Forms({ request }: { readonly request: ShownRequest }) {
  const shown: Readonly<Record<string, string | null>> = {
    "As command": commandOf(request),
    "As API": curlOf(request),
  };
  return Object.entries(shown).flatMap(([title, text]) =>
    text === null
      ? []
      : [
          <div key={title}>
            <h2>{title}</h2>
            <pre className="code">{visibleText(text)}</pre>
            <CopyButton label="Copy" text={text} />
          </div>,
        ],
  );
}

function curlOf({ method = "GET", path, body, headers = {} }: ShownRequest): string {
  const sent = { ...headers, ...(body !== undefined && { "content-type": "application/json" }) };
  const parts = [
    ...(method === "GET" ? [] : ["-X", method]),
    ...Object.entries(sent).flatMap(([name, value]) => ["-H", `${name}: ${value}`]),
    ...(body === undefined ? [] : ["-d", JSON.stringify(body)]),
    `${gatewayAddress()}/api${path}`,
  ];
  return `curl -H "Authorization: Bearer $DRAGOMAN_TOKEN" ${parts.map(shellQuoted).join(" ")}`;
}
