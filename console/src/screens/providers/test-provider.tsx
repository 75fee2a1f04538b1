// Tests a provider with one small call, and shows what it answered: the status, the time, and the provider's own words.
import { AsCode } from "../../components/as-code.tsx";
import { type SubmitEvent, useId, useState } from "react";
import type { ProviderHealth, ProviderTest } from "../../api/types.ts";
import { useWrite } from "../../api/use-write.ts";
import { Modal } from "../../components/modal.tsx";
import { Problem } from "../../components/problem.tsx";
import { duration } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { Status } from "../../components/status-mark.tsx";
import { Choices } from "../../components/controls/labelled.tsx";

interface TestButtonProps {
  readonly provider: ProviderHealth;
}

/** Projects of the scope in which the reader may test. */
function usePayers(): readonly { readonly id: string; readonly name: string }[] {
  const scope = useScope();
  const me = useMe();
  return me.places.flatMap(({ tenant_id: tenant, project_id: project, name }) =>
    project !== null &&
    tenant === scope.tenant &&
    (scope.project === null || scope.project === project) &&
    may(me, { tenant, project }, "test*Provider")
      ? [{ id: project, name }]
      : [],
  );
}

export function TestButton({ provider }: TestButtonProps) {
  const [isOpen, setIsOpen] = useState(false);
  const payers = usePayers();
  return (
    <>
      <button
        type="button"
        disabled={payers.length === 0}
        title={
          payers.length === 0 ? "A maintainer of a project can do it, because a project pays the call." : undefined
        }
        onClick={() => setIsOpen(true)}
      >
        Test
      </button>
      {isOpen && <TestDialog provider={provider} close={() => setIsOpen(false)} />}
    </>
  );
}

function TestDialog({ provider, close }: TestButtonProps & { readonly close: () => void }) {
  const id = useId();
  const payers = usePayers();
  const { tenant } = useScope();
  const { send, isBusy, failure } = useWrite();
  const [project, setProject] = useState(payers[0]?.id ?? "");
  const [model, setModel] = useState(provider.targets[0]?.model ?? "");
  const [result, setResult] = useState<ProviderTest | null>(null);
  const path = adminPath({ tenant, project }, `/providers/${encodeURIComponent(provider.id)}/test`);
  const request = model.trim() === "" ? {} : { model: model.trim() };
  const test = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setResult(null);
    setResult((await send<ProviderTest>("POST", path, request)) ?? null);
  };
  return (
    <Modal title={`Test ${visibleText(provider.id)}`} close={close}>
      <form className="form" onSubmit={(event) => void test(event)}>
        <p>One small call is made, which the project pays and which is in the list of calls.</p>
        <label htmlFor={`${id}-model`}>Model</label>
        <input
          id={`${id}-model`}
          list={`${id}-models`}
          value={model}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setModel(event.target.value)}
        />
        <datalist id={`${id}-models`}>
          {provider.targets.map((target) => (
            <option key={target.model} value={target.model} />
          ))}
        </datalist>
        <label htmlFor={`${id}-project`}>Project</label>
        <Choices
          id={`${id}-project`}
          value={project}
          choices={payers.map((payer) => [payer.id, payer.name])}
          change={setProject}
        />
        {failure !== null && <Problem what="The test was not made." error={failure} />}
        <div role="status">{result !== null && <Result result={result} provider={provider.id} />}</div>
        <p className="actions">
          <button type="submit" className="primary" disabled={isBusy}>
            {isBusy ? "Calling…" : result === null ? "Make the call" : "Call again"}
          </button>
          <button type="button" className="quiet" onClick={close}>
            Close
          </button>
          <AsCode method="POST" path={path} body={request} />
        </p>
      </form>
    </Modal>
  );
}

function Result({ result, provider }: { readonly result: ProviderTest; readonly provider: string }) {
  const words = result.message ?? result.text;
  return (
    <div className="panel">
      <div className="panel-body">
        <p>
          <Status tone={result.ok ? "good" : "bad"}>
            {result.status} {result.ok ? "answers" : (result.code ?? "failed")}
          </Status>{" "}
          after {duration(result.duration_ms)}, {visibleText(provider)}:{visibleText(result.model)}, {result.operation}
        </p>
        {words !== null && <pre className="code">{visibleText(words)}</pre>}
        {result.trace_id !== null && (
          <p>
            <ScopedLink to={`/calls/${result.trace_id}`}>The call</ScopedLink>
          </p>
        )}
      </div>
    </div>
  );
}
