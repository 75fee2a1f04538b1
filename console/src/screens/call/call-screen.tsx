// `/calls/<trace id>`: everything that is recorded of one call.
import { type ReactNode, useEffect, useMemo } from "react";
import { copyText } from "../../components/copy-button.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { CallAround } from "./call-around.tsx";
import { CallCost } from "./call-cost.tsx";
import { Origin, Parameters, RawRecord } from "./call-facts.tsx";
import { CallHeadline } from "./call-headline.tsx";
import { CallLimits } from "./call-limits.tsx";
import { recordOf } from "./call-record.ts";
import { CallVerdict } from "./call-verdict.tsx";
import { Figures } from "./figures.tsx";
import { Timeline } from "./timeline.tsx";
import { useCall } from "./use-call.ts";

export function CallScreen({ id }: { readonly id: string }) {
  const { data: call, error, refetch } = useCall(id, { withAround: true });
  useEffect(() => {
    document.title = `Call ${id.slice(0, 12)} · Dragoman`;
  }, [id]);
  const bindings = useMemo<readonly Binding[]>(
    () => [
      {
        keys: "y",
        label: "Copy the link to this call",
        run: () => void copyText(`${location.origin}/console/t/${id}`),
      },
    ],
    [id],
  );
  useKeys(bindings);
  const record = recordOf(call?.record ?? null);
  return (
    <div className="call-page">
      <p>
        <ScopedLink to="/calls">Calls</ScopedLink>
      </p>
      <h1>Call</h1>
      {error !== null && <Problem what="The call could not be read." error={error} retry={() => void refetch()} />}
      {error?.status === 404 && (
        <p className="hint">
          A call is recorded when it has ended, so it may still run. Calls that are older than the gateway keeps them
          are gone.
        </p>
      )}
      {call === undefined && error === null && <Pending what="The call" lines={8} />}
      {call !== undefined && (
        <>
          <CallVerdict call={call} />
          <CallHeadline call={call} />
          {record.error_detail !== undefined && <pre className="code">{visibleText(record.error_detail)}</pre>}
          <Figures call={call} />
          {call.record === null && (
            <p className="hint">The details of this call are older than the gateway keeps them; its figures stay.</p>
          )}
          <Panel title="Where the time went">
            <Timeline record={record} totalMs={call.total_ms} />
          </Panel>
          <div className="panels">
            <Panel title="Cost">
              <CallCost call={call} />
            </Panel>
            <Panel title="Whose call it was">
              <Origin call={call} />
            </Panel>
            <Panel title="Parameters">
              <Parameters params={record.params} />
            </Panel>
            <Panel title="Limits and policies">
              <CallLimits call={call} />
              {(record.policies ?? []).map(({ name, effect, why }) => (
                <p key={`${name} ${effect}`}>
                  Policy <code>{visibleText(name)}</code>: {effect.replace("_", " ")}
                  {why === undefined ? "" : ` (${visibleText(why)})`}
                </p>
              ))}
              {(record.warnings ?? []).map((warning) => (
                <p key={warning}>Warning: {visibleText(warning)}</p>
              ))}
            </Panel>
          </div>
          <Panel title="Around it">
            <CallAround call={call} />
          </Panel>
          <RawRecord call={call} />
        </>
      )}
    </div>
  );
}

function Panel({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="panel">
      <h2>{title}</h2>
      <div className="panel-body">{children}</div>
    </section>
  );
}
