// What the gateway would do with the request, and why: the answer of `x-gateway-explain`, for which nothing is sent.
import { useQuery } from "@tanstack/react-query";
import type { ApiError } from "../../api/api.ts";
import { useApi } from "../../api/use-api.tsx";
import { KeyCaps } from "../../keyboard/key-caps.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useMe } from "../../session/session.tsx";
import type { JsonObject } from "./play-request.ts";
import type { PaneRequest } from "./pane-request.ts";

interface Explanation {
  readonly route: string;
  readonly targets: readonly {
    readonly order: number;
    readonly target: string;
    readonly why: string;
    readonly parameters: readonly { readonly name: string; readonly fate: string; readonly note: string | null }[];
    readonly request: { readonly method: string; readonly url: string; readonly body: unknown };
    readonly estimate: {
      readonly prompt_tokens: number;
      readonly completion_tokens_bound: number | null;
      readonly cost_usd: { readonly total_bound: string | null };
    };
  }[];
  readonly limits: readonly { readonly id: string; readonly kind: string; readonly fits: boolean }[];
  readonly policies: readonly { readonly name: string; readonly kind: string; readonly mode: string }[];
}

export function PlanTab({ request }: { readonly request: PaneRequest }) {
  const { body, projectId, explained, explain } = request;
  const me = useMe();
  if (!me.permissions.includes("debug"))
    return (
      <p className="hint">
        Explaining a call needs the permission <code>debug</code>, which your session does not have. An admin or owner
        gives it to a token, and the next login with that token has it.
      </p>
    );
  return (
    <>
      <p className="actions">
        <button type="button" onClick={explain} disabled={body === null || projectId === null}>
          Explain this request <KeyCaps keys="mod+shift+enter" />
        </button>
        <span className="hint">Nothing is sent to a provider.</span>
      </p>
      {explained > 0 && body !== null && projectId !== null && (
        <Explained key={explained} body={body} projectId={projectId} />
      )}
    </>
  );
}

function Explained({ body, projectId }: { readonly body: JsonObject; readonly projectId: string }) {
  const api = useApi();
  // The request as it was when the explanation was asked for; typing on does not ask again.
  const { data, error, refetch } = useQuery<Explanation, ApiError>({
    queryKey: ["explanation"],
    queryFn: ({ signal }) =>
      api.send<Explanation>("POST", "/v1/chat/completions", {
        body,
        signal,
        headers: { "x-gateway-explain": "true", "x-gateway-project-id": projectId },
      }),
    gcTime: 0,
    staleTime: Infinity,
    placeholderData: () => undefined,
    retry: false,
  });
  if (error !== null) return <Problem what="The call would be refused." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Pending what="The plan" />;
  return (
    <>
      <p>
        Route: <code>{visibleText(data.route)}</code>
      </p>
      <ol className="plan">
        {data.targets.map(({ order, target, why, parameters, request, estimate }) => (
          <li key={order}>
            <h3>
              {order}. {visibleText(target)}
            </h3>
            <p>{visibleText(why)}</p>
            <p className="hint">
              About {wholeCount(estimate.prompt_tokens)} tokens in
              {estimate.completion_tokens_bound !== null &&
                `, at most ${wholeCount(estimate.completion_tokens_bound)} out`}
              ;{" "}
              {estimate.cost_usd.total_bound === null
                ? "no bound of the cost"
                : `at most $${estimate.cost_usd.total_bound}`}
              .
            </p>
            {parameters.length > 0 && (
              <ul className="fates">
                {parameters.map(({ name, fate, note }) => (
                  <li key={name}>
                    <code>{visibleText(name)}</code> {fate}
                    {note !== null && <small> {visibleText(note)}</small>}
                  </li>
                ))}
              </ul>
            )}
            <details>
              <summary>
                {request.method} {visibleText(request.url)}
              </summary>
              {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reached by keyboard */}
              <pre className="code" tabIndex={0} aria-label={`Body for ${target}`}>
                {visibleText(JSON.stringify(request.body, null, 2))}
              </pre>
            </details>
          </li>
        ))}
      </ol>
      {data.limits.map(({ id, kind, fits }) => (
        <p key={id}>
          {kind} <code>{visibleText(id)}</code>: {fits ? "has room" : "has no room now, so the call would be refused"}
        </p>
      ))}
      {data.policies.map(({ name, kind, mode }) => (
        <p key={name}>
          {kind} <code>{visibleText(name)}</code> applies{mode === "audit" ? ", and only records" : ""}.
        </p>
      ))}
    </>
  );
}
