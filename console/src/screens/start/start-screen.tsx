// `/start`: the first call. A command to copy, and a line that waits for the call and shows it as soon as it has ended.
import { ActionsAsCode, AsCode } from "../../components/as-code.tsx";
import { useState } from "react";
import type { IssuedToken, LogPage } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { useWrite } from "../../api/use-write.ts";
import { useClock } from "../../clock.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Problem } from "../../components/problem.tsx";
import { Unread } from "../../components/unread.tsx";
import { gatewayAddress } from "../../console-path.ts";
import { shellQuoted } from "../../format/shell-quoted.ts";
import { visibleText } from "../../format/visible-text.ts";
import { adminPath } from "../../scope/scope.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { CallPeek } from "../call/call-peek.tsx";
import { usePayingProject } from "../play/paying-project.ts";
import { ProjectChoice } from "../play/project-choice.tsx";
import { answersChats, useModels } from "../play/use-models.ts";
import { Panel } from "../../components/panel.tsx";
import { InlineSelect } from "../../components/controls/labelled.tsx";

const WAIT_MS = 1000;
const DAYS = 30;

export function StartScreen() {
  const scope = useScope();
  const me = useMe();
  const paying = usePayingProject();
  const { data: listed, error, refetch } = useModels(paying.id);
  const models = listed?.filter(answersChats);
  const [chosen, setChosen] = useState<string | null>(null);
  const [issued, setIssued] = useState<{ readonly of: string | null; readonly token: string } | null>(null);
  const { ask, isBusy, failure } = useWrite();
  const ids = models?.map(({ id }) => id) ?? [];
  const model = ids.find((id) => id === chosen) ?? ids.find((id) => id.endsWith(":echo")) ?? ids[0] ?? "";
  const project = paying.id;
  const token = issued?.of === project ? issued.token : null;
  const place = { tenant: paying.tenantId, project };
  const mayMake = project !== null && may(me, place, "create*Token");
  const request = {
    method: "POST",
    path: adminPath(place, "/tokens"),
    body: { name: "first call", expires_in_days: DAYS },
  } as const;
  const make = async (): Promise<void> => {
    const made = await ask<IssuedToken>(request);
    setIssued(made?.token == null ? null : { of: project, token: made.token });
  };
  return (
    <div className="call-page">
      <div className="title-row">
        <h1>The first call</h1>
        <ProjectChoice project={paying} label="Of the project" />
        <AsCode path={adminPath(scope, "/calls?limit=1")} />
      </div>
      <Panel title="1. Send it">
        {project === null ? (
          <p className="hint">
            {paying.choices.length === 0
              ? "A call belongs to a project. Someone with the role admin or owner can make one, or give you a role in one."
              : "A call belongs to a project. Choose one at the top."}
          </p>
        ) : (
          <Unread what="The models" pending="The list of models" of={{ data: models, error, refetch }} />
        )}
        {models !== undefined && (
          <>
            <InlineSelect
              label="Model"
              value={model}
              choices={ids.map((id) => [id, visibleText(id)])}
              change={setChosen}
            />
            <pre className="code">{visibleText(curlOf(model, token))}</pre>
            <p className="actions">
              <CopyButton label="Copy the command" text={curlOf(model, token)} />
              {token === null && (
                <button type="button" disabled={!mayMake || isBusy} onClick={() => void make()}>
                  {isBusy ? "Making a token…" : "Put a new token into it"}
                </button>
              )}
              {token === null && mayMake && (
                <ActionsAsCode of="of making a token" actions={{ "Make a token": request }} />
              )}
            </p>
            <p className="hint">
              {token === null
                ? `Replace $DRAGOMAN_TOKEN by the access token that the first start printed${mayMake ? `, or make one of the project ${project} for ${DAYS} days` : ""}.`
                : `The token belongs to the project ${project}, ends in ${DAYS} days, and is shown on this page only.`}
            </p>
            {failure !== null && <Problem what="The token was not made." error={failure} />}
          </>
        )}
      </Panel>
      <Panel title="2. See it here">
        <Waiting />
      </Panel>
      <p className="hint">
        Any client library of the APIs that the gateway serves takes the same address and token. All calls are in{" "}
        <ScopedLink to="/calls">the list of calls</ScopedLink>.
      </p>
    </div>
  );
}

function curlOf(model: string, token: string | null): string {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello, Dragoman!" }] });
  return `curl ${gatewayAddress()}/api/v1/chat/completions \\
  -H "Authorization: Bearer ${token ?? "$DRAGOMAN_TOKEN"}" \\
  -H "Content-Type: application/json" \\
  -d ${shellQuoted(body)}`;
}

/** Calls from before the page was opened do not count. */
function Waiting() {
  const scope = useScope();
  const clock = useClock();
  const [sinceMs] = useState(clock);
  const path = `${adminPath(scope, "/logs")}?limit=1&from=${encodeURIComponent(new Date(sinceMs).toISOString())}`;
  const { data, error, refetch } = useRead<LogPage>(path, { everyMs: WAIT_MS });
  const call = data?.data[0];
  if (error !== null) return <Problem what="The calls could not be read." error={error} retry={() => void refetch()} />;
  return (
    <>
      <p role="status">
        {call === undefined ? "Waiting for a call. It appears here when it has ended." : "A call has arrived."}
      </p>
      {call !== undefined && <CallPeek id={call.trace_id} close={null} />}
    </>
  );
}
