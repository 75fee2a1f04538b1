// `/calls/<trace id>`: everything that is recorded of one call. The filter of the list that led here stays in the URL, and `j` and `k` go on in
// that list.
import { useCallback, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import type { CallDetail } from "../../api/types.ts";
import { copyText } from "../../components/copy-button.tsx";
import { useClock } from "../../clock.ts";
import { Pending } from "../../components/pending.tsx";
import { Panel } from "../../components/panel.tsx";
import { Problem } from "../../components/problem.tsx";
import { callAddress, gatewayAddress } from "../../console-path.ts";
import { ageOf } from "../../format/time.ts";
import { counted } from "../../format/count.ts";
import { exactUsd } from "../../format/money.ts";
import { visibleText } from "../../format/visible-text.ts";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";
import { KeyCaps } from "../../keyboard/key-caps.tsx";
import { pathIn } from "../../scope/scope.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { useUrlState } from "../../url-state.ts";
import { CallActions } from "./call-actions.tsx";
import { CallAround } from "./call-around.tsx";
import { Conversation } from "./call-conversation.tsx";
import { CallCost } from "./call-cost.tsx";
import { CallExplain } from "./call-explain.tsx";
import { Origin, Parameters, RawRecord } from "./call-facts.tsx";
import { CallHeadline, CallVerdict, NoDetails } from "./call-headline.tsx";
import { CallHistory } from "./call-history.tsx";
import { CallLimits } from "./call-limits.tsx";
import { CallMirror, CallPlan } from "./call-plan.tsx";
import { type RecordFields, recordOf } from "./call-record.ts";
import { remadeRequest } from "./call-request.ts";
import { Figures } from "./figures.tsx";
import { gatewayCurl } from "./request-code.ts";
import { arrivalOf, mayRun } from "./running.ts";
import { Timeline } from "./timeline.tsx";
import { useCall } from "./use-call.ts";
import { useContent } from "./use-content.ts";
import { useWalk } from "./walk.ts";

export function CallScreen({ id }: { readonly id: string }) {
  const { data: call, error, errorUpdateCount, refetch } = useCall(id, { withAround: true });
  const clock = useClock();
  const { step, atEnd } = useSteps(call);
  const context = useUrlState().with({});
  useEffect(() => {
    document.title = `Call ${id.slice(0, 12)} · Dragoman`;
  }, [id]);
  const waits =
    call === undefined && mayRun(id, clock()) && errorUpdateCount > 0 && (error === null || error.status === 404);
  return (
    <div className="call-page">
      <div className="title-row">
        <p>
          <ScopedLink to={`/calls${context}`}>Calls</ScopedLink>
        </p>
        <span className="actions">
          <button type="button" className="quiet" disabled={call === undefined} onClick={() => step(-1)}>
            Newer <KeyCaps keys="k" />
          </button>
          <button type="button" className="quiet" disabled={call === undefined} onClick={() => step(1)}>
            Older <KeyCaps keys="j" />
          </button>
          <span role="status" className="hint">
            {atEnd}
          </span>
        </span>
      </div>
      <h1>Call</h1>
      {waits && <StillRunning id={id} />}
      {error !== null && !waits && (
        <Problem what="The call could not be read." error={error} retry={() => void refetch()} />
      )}
      {error?.status === 404 && !waits && (
        <p className="hint">
          A call is recorded when it has ended. Calls that are older than the gateway keeps them are gone.
        </p>
      )}
      {call === undefined && error === null && !waits && <Pending what="The call" lines={8} />}
      {call !== undefined && <Shown call={call} />}
    </div>
  );
}

/** Its page fills itself when it has ended. */
function StillRunning({ id }: { readonly id: string }) {
  const [nowMs] = useState(useClock());
  return (
    <p role="status" className="banner">
      This call arrived {ageOf(arrivalOf(id)!, nowMs)} and is not recorded yet, so it may still run. Its page appears
      here when it has ended.
    </p>
  );
}

/** Goes through the list; Back leads to where the first of them was opened. */
function useSteps(call: CallDetail | undefined) {
  const walk = useWalk(call);
  const scope = useScope();
  const context = useUrlState().with({});
  const [, navigate] = useLocation();
  const [atEnd, setAtEnd] = useState("");
  const step = useMemo(
    () =>
      async (by: 1 | -1): Promise<void> => {
        try {
          const next = await walk(by);
          if (next !== null) navigate(pathIn(scope, `/calls/${next}${context}`), { replace: true });
          setAtEnd(
            next !== null
              ? ""
              : by > 0
                ? "This is the oldest call of the list."
                : "This is the newest call of the list.",
          );
        } catch (thrown) {
          setAtEnd((thrown as Error).message);
        }
      },
    [walk, scope, context, navigate],
  );
  const bindings = useMemo<readonly Binding[]>(
    () => [
      { keys: "j", label: "Next older call of the list", run: () => void step(1) },
      { keys: "k", label: "Next newer call of the list", run: () => void step(-1) },
    ],
    [step],
  );
  useKeys(bindings);
  return { step: (by: 1 | -1) => void step(by), atEnd };
}

function Shown({ call }: { readonly call: CallDetail }) {
  const record = recordOf(call.record);
  const opened = useContent(call);
  const { content } = opened;
  const request = useMemo(() => remadeRequest(call, content), [call, content]);
  const [explains, setExplains] = useState(0);
  const explain = useCallback(() => setExplains((before) => before + 1), []);
  const bindings = useMemo<readonly Binding[]>(
    () => [
      {
        keys: "y",
        label: "Copy the link to this call",
        run: () => void copyText(callAddress(call.trace_id)),
      },
      ...(request === null
        ? []
        : [
            {
              keys: "Y",
              label: "Copy this call as curl",
              run: () => void copyText(gatewayCurl(request.body, gatewayAddress())),
            },
            { keys: "e", label: "Explain this call now", run: explain },
          ]),
    ],
    [call.trace_id, request, explain],
  );
  useKeys(bindings);
  return (
    <>
      <CallVerdict call={call} />
      <CallHeadline call={call} />
      <CallActions call={call} request={request} />
      {record.error_detail !== undefined && <pre className="code">{visibleText(record.error_detail)}</pre>}
      <Figures call={call} />
      {call.record === null ? (
        <NoDetails />
      ) : (
        <>
          <Panel title="Where the time went">
            <Timeline record={record} totalMs={call.total_ms} />
          </Panel>
          <Panel title="Why it went there">
            <CallMirror record={record} />
            <CallPlan record={record} />
          </Panel>
        </>
      )}
      <Panel title="Where it would go now">
        <CallExplain call={call} request={request} asked={explains} ask={explain} />
      </Panel>
      <div className="panels">
        <Panel title="Cost">
          <CallCost call={call} />
        </Panel>
        <Panel title="Whose call it was">
          <Origin call={call} />
        </Panel>
      </div>
      {call.record !== null && <Decided call={call} record={record} />}
      <Panel title="Conversation">
        <Conversation call={call} opened={opened} />
      </Panel>
      <Panel title="Around it">
        <CallAround call={call} />
      </Panel>
      <CallHistory call={call} />
      <RawRecord call={call} />
    </>
  );
}

/** What became of the parameters of a call, and which limits, policies and services decided about it. */
function Decided({ call, record }: { readonly call: CallDetail; readonly record: RecordFields }) {
  return (
    <>
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
        {(record.guard_services ?? []).map((use) => (
          <p key={`${use.policy} ${use.place}`}>
            Service of <code>{visibleText(use.policy)}</code> ({use.type}, {use.place.replace("_", " ")}):{" "}
            {counted(use.requests, "request")} with {counted(use.characters, "character")}, waited{" "}
            {Math.round(use.waited_ms)} ms
            {use.found === undefined ? "" : `, found ${visibleText(use.found.join(", "))}`}
            {use.failures === undefined ? "" : `, ${use.failures} without a verdict`}
            {use.cost_nano_usd === undefined ? "" : `, cost ${exactUsd(BigInt(use.cost_nano_usd))}`}
          </p>
        ))}
        {(record.warnings ?? []).map((warning) => (
          <p key={warning}>Warning: {visibleText(warning)}</p>
        ))}
      </Panel>
    </>
  );
}
