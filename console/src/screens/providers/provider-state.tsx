// How a provider does: the figures of the last hour, its targets, how its calls failed, and what depends on it.
import type { CallDetail, ProviderFailure, ProviderHealth } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { Problem } from "../../components/problem.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { counted, wholeCount } from "../../format/count.ts";
import { duration } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { ProviderKey } from "./provider-key.tsx";
import { aboutText, TargetMark } from "./provider-words.tsx";
import { type CountedTime, providerCalls } from "./provider-calls.ts";
import { Fact } from "../../components/facts.tsx";
import { Panel } from "../../components/panel.tsx";

interface ProviderStateProps {
  readonly provider: ProviderHealth;
  /** The calls whose attempts are counted began in this time. */
  readonly counted: CountedTime;
}

export function ProviderState({ provider, counted: since }: ProviderStateProps) {
  const scope = useScope();
  return (
    <>
      <dl className="figures">
        <Fact name="Attempts">
          {wholeCount(provider.attempts)}
          <small>
            since <TimeText at={since.from} />, with retries and fallbacks
          </small>
          <small>
            <ScopedLink to={providerCalls(provider, since)}>Calls that it served</ScopedLink>
          </small>
        </Fact>
        <Fact name="Failed at the provider">
          {wholeCount(provider.errors)}
          {provider.attempts > 0 && (
            <small>{Math.round((provider.errors / provider.attempts) * 100)} % of attempts</small>
          )}
        </Fact>
        <Fact name="Median time">{aboutText(provider.p50_ms)}</Fact>
        <Fact name="95th percentile">{aboutText(provider.p95_ms)}</Fact>
      </dl>
      {provider.last_failure !== null && <LastFailure failure={provider.last_failure} />}
      <div className="panels">
        <Targets provider={provider} />
        <ProviderKey id={provider.id} />
        <Panel id="classes" title="How its attempts failed">
          {provider.codes.length === 0 ? (
            <p className="hint">
              None of its attempts has failed at the provider lately, apart from those for which it accepted no more
              requests.
            </p>
          ) : (
            <ul className="near">
              {provider.codes.map(({ code, attempts: count }) => (
                <li key={code}>
                  {code} <small>{counted(count, "attempt")}</small>
                </li>
              ))}
            </ul>
          )}
        </Panel>
        <Panel id="routes-of" title="Routes that use it">
          {provider.routes.length === 0 ? (
            <p className="hint">No route has it among its targets.</p>
          ) : (
            <ul className="near">
              {provider.routes.map(({ name, project_id: project }) => (
                <li key={`${project ?? ""} ${name}`}>
                  <ScopedLink
                    {...(project !== null && { scope: { tenant: scope.tenant, project } })}
                    to={`/routes/${encodeURIComponent(name)}`}
                  >
                    {visibleText(name)}
                  </ScopedLink>
                  {project !== null && scope.project === null && <small> of {visibleText(project)}</small>}
                </li>
              ))}
            </ul>
          )}
        </Panel>
      </div>
    </>
  );
}

/** The sentence that the page of the call begins with. */
function LastFailure({ failure }: { readonly failure: ProviderFailure }) {
  const scope = useScope();
  const path = adminPath(scope, `/calls/${failure.trace_id}?around=false`);
  const { data, error } = useRead<CallDetail>(path, { keepsPrevious: false });
  return (
    <Panel id="last-failure" title="The last failure" note={<TimeText at={failure.at} />}>
      {error !== null && <Problem what="What is known of the failed call could not be read." error={error} />}
      {data?.verdict != null && <p>{visibleText(data.verdict.text)}</p>}
      <p>
        <ScopedLink to={`/calls/${failure.trace_id}`}>
          The call that asked {visibleText(failure.model)}: {failure.status} {failure.code}
        </ScopedLink>
      </p>
    </Panel>
  );
}

function Targets({ provider: { targets } }: { readonly provider: ProviderHealth }) {
  return (
    <section className="panel" aria-labelledby="targets">
      <h2 id="targets">
        Models that were called lately <small>by this gateway</small>
      </h2>
      {targets.length === 0 ? (
        <div className="panel-body">
          <p className="hint">None since this gateway was started.</p>
        </div>
      ) : (
        <DataTable
          label="Models that were called lately"
          rows={targets}
          keyOf={({ model }) => model}
          columns={[
            { head: "Model", render: ({ model }) => <span className="cut">{visibleText(model)}</span> },
            { head: "Circuit breaker", render: (target) => <TargetMark target={target} /> },
            {
              head: "First token",
              isNumber: true,
              render: ({ first_content_ms: ms }) => (ms === null ? "–" : duration(ms)),
            },
          ]}
        />
      )}
    </section>
  );
}
