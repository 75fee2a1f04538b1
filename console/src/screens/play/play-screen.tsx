// `/play`: a chat call as any client makes it, with the rights of the session: limits, policies and records are the real ones.
import { AsCode } from "../../components/as-code.tsx";
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocationProperty } from "wouter/use-browser-location";
import { CodeEditor } from "../../components/code-editor.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Empty } from "../../components/empty.tsx";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";
import { KeyCaps } from "../../keyboard/key-caps.tsx";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { useUrlState } from "../../url-state.ts";
import { FAULTS, faultOf, withFault } from "./faults.ts";
import { usePayingProject } from "./paying-project.ts";
import { firstRequest, forTarget, readRequest, targetOf, writtenRequest } from "./play-request.ts";
import { ProjectChoice } from "./project-choice.tsx";
import { RequestForm } from "./request-form.tsx";
import { RunPane } from "./run-pane.tsx";
import { fragmentOf, requestIn } from "./share.ts";
import { isRouteEntry, type ListedModel, useModels } from "./use-models.ts";
import { useRun } from "./use-run.ts";
import { Unread } from "../../components/unread.tsx";
import { InlineSelect } from "../../components/controls/labelled.tsx";

export function PlayScreen() {
  const paying = usePayingProject();
  const { data: models, error, refetch } = useModels(paying.id);
  return (
    <>
      <div className="title-row">
        <h1>Playground</h1>
        <ProjectChoice project={paying} label="Charged to" />
      </div>
      {paying.choices.length === 0 && (
        <Empty title="No project can pay for a call">
          <p>
            A call is charged to a project in which you have the role developer or a higher one. Someone with the role
            admin or owner can make a project or give you a role in one, or you choose another tenant at the top.
          </p>
        </Empty>
      )}
      {paying.choices.length > 0 && paying.id === null && (
        <Empty title="Which project pays?">
          <p>Choose the project to which the calls are charged. Its limits, policies and routes apply.</p>
        </Empty>
      )}
      {paying.id !== null && (
        <Unread what="The models" pending="The list of models" lines={6} of={{ data: models, error, refetch }} />
      )}
      {paying.id !== null && models !== undefined && (
        <Playground key={paying.id} projectId={paying.id} tenantId={paying.tenantId} models={models} />
      )}
    </>
  );
}

interface PlaygroundProps {
  readonly projectId: string;
  readonly tenantId: string | null;
  readonly models: readonly ListedModel[];
}

const SAVE_MS = 250;

function Playground({ projectId, tenantId, models }: PlaygroundProps) {
  const state = useUrlState();
  const [text, setText] = useSharedText(state.get("model") ?? models[0]?.id ?? "sandbox:echo");
  const [explained, setExplained] = useState(0);
  const { body, problem } = readRequest(text);
  const fault = faultOf(state.get("fault"));
  const other = state.get("beside");
  const replayed = replayedIn(state.get("replay"));
  const first = useRun();
  const second = useRun();
  const isRoute = (name: string): boolean => models.some((one) => one.id === name && isRouteEntry(one));
  const sentBody = body === null ? null : withFault(body, fault, isRoute);
  const besideBody = body === null || other === null ? null : withFault(forTarget(body, other), fault, isRoute);
  const target = body === null ? null : targetOf(body);
  const isRunning = first.run?.state === "running" || second.run?.state === "running";
  const maySend = target !== null && !isRunning;
  const actions = {
    run: (): void => {
      if (sentBody === null || !maySend) return;
      void first.start(sentBody, projectId, replayed);
      if (besideBody !== null) void second.start(besideBody, projectId, replayed);
    },
    stop: (): void => {
      first.stop();
      second.stop();
    },
    explain: (): void => {
      setExplained((count) => count + 1);
      state.set({ tab: "plan" }, { replace: true });
    },
  };
  usePlayKeys(actions);
  const shared = { projectId, tenantId, models, explained, explain: actions.explain };
  return (
    <div className="play">
      <section className="panel" aria-label="Request">
        <h2>
          Request
          <EditorChoice />
        </h2>
        <div className="panel-body">
          {state.get("as") === "json" ? (
            <CodeEditor
              label="Request as JSON"
              text={text}
              change={setText}
              problems={problem === null ? [] : [problem]}
            />
          ) : body === null ? (
            <p className="problem" role="alert">
              Line {problem.line}: {problem.message} Correct it as JSON, and the form is back.
            </p>
          ) : (
            <RequestForm body={body} change={(next) => setText(writtenRequest(next))} models={models} />
          )}
          <RunChoices models={models} />
          {replayed !== null && <ReplayNote trace={replayed} />}
          <p className="actions">
            <button type="button" className="primary" disabled={!maySend} onClick={actions.run}>
              Send <KeyCaps keys="mod+enter" />
            </button>
            <button type="button" disabled={!isRunning} onClick={actions.stop}>
              Stop
            </button>
            <button type="button" className="quiet" onClick={actions.explain} disabled={body === null}>
              Explain
            </button>
            {sentBody !== null && (
              <AsCode
                method="POST"
                path="/v1/chat/completions"
                body={sentBody}
                headers={{ "x-gateway-project-id": projectId }}
              />
            )}
            <CopyButton
              label="Copy link"
              text={location.origin + location.pathname + location.search + fragmentOf(text)}
            />
          </p>
        </div>
      </section>
      <div className={`runs ${other === null ? "" : "two"}`}>
        <RunPane
          title={fault === null ? (target ?? "no target") : `${fault.model}, then ${target}`}
          run={first.run}
          request={{ ...shared, body: sentBody }}
        />
        {other !== null && (
          <RunPane
            title={fault === null ? other : `${fault.model}, then ${other}`}
            run={second.run}
            request={{ ...shared, body: besideBody }}
          />
        )}
      </div>
    </div>
  );
}

const replayedIn = (text: string | null): string | null => (text !== null && /^[0-9a-f]{32}$/.test(text) ? text : null);

/** A request that began as a recorded call says so, until the reader makes it a call of its own. */
function ReplayNote({ trace }: { readonly trace: string }) {
  const state = useUrlState();
  return (
    <p className="hint">
      This repeats <ScopedLink to={`/calls/${trace}`}>a recorded call</ScopedLink>, and the audit log says so.{" "}
      <button type="button" className="quiet" onClick={() => state.set({ replay: null }, { replace: true })}>
        It is another call
      </button>
    </p>
  );
}

function EditorChoice() {
  const state = useUrlState();
  const isJson = state.get("as") === "json";
  return (
    <span className="segments">
      {[
        ["Form", null],
        ["JSON", "json"],
      ].map(([label, name]) => (
        <button
          key={label}
          type="button"
          aria-pressed={(name === "json") === isJson}
          onClick={() => state.set({ as: name ?? null }, { replace: true })}
        >
          {label}
        </button>
      ))}
    </span>
  );
}

/** What changes the call and is no part of the request. */
function RunChoices({ models }: { readonly models: readonly ListedModel[] }) {
  const state = useUrlState();
  const fault = faultOf(state.get("fault"));
  return (
    <div className="form-row">
      <InlineSelect
        label="Compare with"
        value={state.get("beside") ?? ""}
        choices={[["", "nothing"], ...models.map(({ id }) => [id, id] as const)]}
        change={(beside) => state.set({ beside }, { replace: true })}
      />
      <InlineSelect
        label="Fail first with"
        value={fault?.name ?? ""}
        choices={[["", "none"], ...FAULTS.map(({ name, label }) => [name, label] as const)]}
        change={(chosen) => state.set({ fault: chosen }, { replace: true })}
      />
      {fault !== null && (
        <p className="hint">
          The call goes to <code>{fault.model}</code> first. The target of the request is its fallback: it is called
          where the first attempt fails before its answer begins.
        </p>
      )}
    </div>
  );
}

/** The text of the request, kept in the fragment of the address. Another one there, pasted or gone back to, takes its place. */
function useSharedText(model: string): readonly [string, (text: string) => void] {
  const fragment = useLocationProperty(() => location.hash);
  const [seen, setSeen] = useState(fragment);
  const [text, setText] = useState(() => requestIn(fragment) ?? writtenRequest(firstRequest(model)));
  if (fragment !== seen) {
    setSeen(fragment);
    setText(requestIn(fragment) ?? text);
  }
  const isChanged = useRef(false);
  useEffect(() => {
    if (!isChanged.current) return undefined;
    const timer = setTimeout(
      () => history.replaceState(history.state, "", location.pathname + location.search + fragmentOf(text)),
      SAVE_MS,
    );
    return () => clearTimeout(timer);
  }, [text]);
  return [
    text,
    (next) => {
      isChanged.current = true;
      setText(next);
    },
  ];
}

interface PlayActions {
  readonly run: () => void;
  readonly stop: () => void;
  readonly explain: () => void;
}

function usePlayKeys(actions: PlayActions): void {
  const latest = useRef(actions);
  useEffect(() => {
    latest.current = actions;
  });
  const bindings = useMemo<readonly Binding[]>(
    () => [
      { keys: "mod+enter", label: "Send the request", run: () => latest.current.run() },
      { keys: "mod+shift+enter", label: "Explain the request", run: () => latest.current.explain() },
      { keys: "e", label: "Explain the request", run: () => latest.current.explain() },
      { keys: "Escape", label: "Stop the call", run: () => latest.current.stop() },
    ],
    [],
  );
  useKeys(bindings);
}
