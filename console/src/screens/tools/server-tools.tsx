// What a tool server offers now: a test of the connection, and its tools with their arguments.
import { useState } from "react";
import { useApi, useRead } from "../../api/use-api.tsx";
import { ActionsAsCode } from "../../components/as-code.tsx";
import { Empty } from "../../components/empty.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import type { ConfiguredObject } from "../../configured/noun.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { Status } from "../../components/status-mark.tsx";

interface ToolList {
  readonly data: readonly {
    readonly name: string;
    readonly title: string | null;
    readonly description: string | null;
    readonly input_schema: unknown;
  }[];
}

interface Tested {
  readonly ok: boolean;
  readonly transport: string | null;
  readonly protocol_version: string | null;
  readonly error?: unknown;
}

export function ServerTools({ object }: { readonly object: ConfiguredObject }) {
  const me = useMe();
  const scope = useScope();
  const path = adminPath(scope, `/tool_servers/${encodeURIComponent(object.id)}`);
  const mayList = may(me, scope, "list*Tools");
  const { data, error, refetch } = useRead<ToolList>(mayList ? `${path}/tools` : null, { keepsPrevious: false });
  return (
    <>
      {may(me, scope, "test*ToolServer") && <ConnectionTest path={path} />}
      {!mayList && (
        <Empty title="You may not list these tools">
          <p>The role developer is enough to see them.</p>
        </Empty>
      )}
      {error !== null && (
        <Problem what="The tool server did not list its tools." error={error} retry={() => void refetch()} />
      )}
      {mayList && data === undefined && error === null && <Pending what="The list of tools" />}
      {data !== undefined && data.data.length === 0 && <Empty title="The server offers no tool that may be used" />}
      <ul className="history">
        {data?.data.map(({ name, title, description, input_schema: schema }) => (
          <li key={name}>
            <details>
              <summary>
                <code>{visibleText(name)}</code> {title !== null && visibleText(title)}{" "}
                <small>{visibleText((description ?? "").slice(0, 200))}</small>
              </summary>
              {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reached by keyboard */}
              <pre className="code" tabIndex={0} aria-label={`Arguments of ${name}`}>
                {visibleText(JSON.stringify(schema, null, 2))}
              </pre>
            </details>
          </li>
        ))}
      </ul>
    </>
  );
}

function ConnectionTest({ path }: { readonly path: string }) {
  const api = useApi();
  const [tested, setTested] = useState<Tested | null>(null);
  const [failure, setFailure] = useState<Error | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const test = async (): Promise<void> => {
    setIsBusy(true);
    setFailure(null);
    setTested(null);
    try {
      setTested(await api.send<Tested>("POST", `${path}/test`));
    } catch (error) {
      setFailure(error as Error);
    }
    setIsBusy(false);
  };
  return (
    <>
      <p className="actions">
        <button type="button" disabled={isBusy} onClick={() => void test()}>
          {isBusy ? "Connecting…" : "Test the connection"}
        </button>
        <ActionsAsCode
          of="of the tool server"
          actions={{
            "Test the connection": { method: "POST", path: `${path}/test` },
            "List the tools": { path: `${path}/tools` },
          }}
        />
        <span role="status">
          {tested !== null && (
            <Status tone={tested.ok ? "good" : "bad"}>
              {tested.ok
                ? `answers over ${tested.transport}, protocol ${tested.protocol_version}`
                : visibleText(JSON.stringify(tested.error ?? "it does not answer"))}
            </Status>
          )}
        </span>
      </p>
      {failure !== null && <Problem what="The connection could not be tested." error={failure} />}
    </>
  );
}
