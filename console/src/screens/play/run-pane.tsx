// What one call of the playground gave: the answer as it comes, and behind tabs its events, headers, tools, cost and plan.
import { Fact, TextFacts } from "../../components/facts.tsx";
import { Tabs, useTab } from "../../components/tabs.tsx";
import { duration } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { type Run, tokensPerSecond } from "./chat-run.ts";
import { CostTab } from "./cost-tab.tsx";
import { EventsTab, HeadersTab, ToolsTab } from "./evidence-tabs.tsx";
import { PlanTab } from "./plan-tab.tsx";
import type { PaneRequest } from "./pane-request.ts";

interface RunPaneProps {
  readonly title: string;
  readonly run: Run | null;
  readonly request: PaneRequest;
}

export function RunPane({ title, run, request }: RunPaneProps) {
  const tabs = [
    { name: "answer", label: "Answer" },
    { name: "events", label: "Events", note: run === null ? undefined : String(run.events.length) },
    { name: "headers", label: "Headers" },
    { name: "tools", label: "Tools", note: toolNote(run) },
    { name: "cost", label: "Cost" },
    { name: "plan", label: "Plan" },
  ];
  const [tab, choose] = useTab(tabs);
  return (
    <section className="panel run-pane" aria-label={`Answer of ${title}`}>
      <h2>
        {visibleText(title)} <RunState run={run} />
      </h2>
      <div className="panel-body">
        <Tabs label={`About the call to ${title}`} tabs={tabs} chosen={tab} choose={choose}>
          {tab === "answer" && <AnswerTab run={run} />}
          {tab === "events" && <EventsTab run={run} />}
          {tab === "headers" && <HeadersTab run={run} />}
          {tab === "tools" && <ToolsTab run={run} />}
          {tab === "cost" && <CostTab run={run} request={request} />}
          {tab === "plan" && <PlanTab request={request} />}
        </Tabs>
      </div>
    </section>
  );
}

function toolNote(run: Run | null): string | undefined {
  const count = run?.answer.toolCalls.length ?? 0;
  return count === 0 ? undefined : String(count);
}

function RunState({ run }: { readonly run: Run | null }) {
  if (run === null) return null;
  const { state, status, answer, totalMs } = run;
  const bad = state === "failed" || answer.error !== null || (status !== null && status >= 400);
  const word =
    state === "running" ? "running" : state === "stopped" ? "stopped" : bad ? (answer.error?.code ?? "failed") : "done";
  const tone = state === "running" || state === "stopped" ? "idle" : bad ? "bad" : "good";
  return (
    <small className={`status ${tone}`} data-mark={tone === "good" ? "✓" : tone === "bad" ? "✕" : "–"} role="status">
      {status ?? ""} {word}
      {totalMs === null ? "" : ` after ${duration(totalMs)}`}
    </small>
  );
}

function AnswerTab({ run }: { readonly run: Run | null }) {
  if (run === null)
    return <p className="hint">Nothing has been sent yet. The call is a real one: it is recorded and paid for.</p>;
  const { answer, failure, state } = run;
  return (
    <>
      <RunFigures run={run} />
      {answer.reasoning !== "" && (
        <details>
          <summary>Reasoning</summary>
          <pre className="answer-text">{visibleText(answer.reasoning)}</pre>
        </details>
      )}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reached by keyboard */}
      <pre className="answer-text" aria-label="Text of the answer" tabIndex={0}>
        {visibleText(answer.text)}
        {state === "running" && <span className="caret" aria-hidden="true" />}
      </pre>
      {answer.toolCalls.length > 0 && (
        <p className="hint">The model calls {answer.toolCalls.map(({ name }) => visibleText(name)).join(", ")}.</p>
      )}
      {answer.error !== null && (
        <p className="problem" role="alert">
          {visibleText(answer.error.message)}
          {answer.error.param !== null && (
            <span>
              Field: <code>{visibleText(answer.error.param)}</code>
            </span>
          )}
        </p>
      )}
      {failure !== null && (
        <p className="problem" role="alert">
          The answer ended early: {failure}
        </p>
      )}
      {state === "stopped" && (
        <p className="hint">You stopped the call. The gateway ended the request to the provider.</p>
      )}
    </>
  );
}

function RunFigures({ run }: { readonly run: Run }) {
  const { headMs, firstTokenMs, totalMs, traceId, answer, headers } = run;
  const speed = tokensPerSecond(run);
  const servedBy = headers.find(([name]) => name === "x-gateway-model")?.[1];
  const attempts = headers.find(([name]) => name === "x-gateway-attempts")?.[1];
  const figures: readonly (readonly [string, string | null])[] = [
    ["Served by", servedBy ?? null],
    ["Attempts", attempts ?? null],
    ["Headers after", headMs === null ? null : duration(headMs)],
    ["First token", firstTokenMs === null ? null : duration(firstTokenMs)],
    ["Total", totalMs === null ? null : duration(totalMs)],
    ["Speed", speed === null ? null : `${speed.toFixed(speed < 10 ? 1 : 0)} tokens/s after the first`],
    ["Ended by", answer.finishReason],
  ];
  return (
    <dl className="facts">
      <TextFacts facts={figures} />
      {traceId !== null && run.state !== "running" && (
        <Fact name="Record">
          <ScopedLink to={`/calls/${traceId}`}>Open the call</ScopedLink>
        </Fact>
      )}
    </dl>
  );
}
