// What the gateway would do with a request now, and why: the answer of `x-gateway-explain`, for which nothing is sent to a provider.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";
import type { ApiError } from "../api/api.ts";
import type { ExplainedTarget, Explanation } from "../api/explanation.ts";
import { useApi } from "../api/use-api.tsx";
import { counted, wholeCount } from "../format/count.ts";
import { visibleText } from "../format/visible-text.ts";
import { Pending } from "./pending.tsx";
import { Problem } from "./problem.tsx";

interface ExplainedPlanProps {
  readonly body: unknown;
  readonly projectId: string;
  /** The trace id of a recorded call that is explained anew, for the audit log. */
  readonly replayed?: string;
  /** Stands above the targets. */
  readonly renderHead?: (explanation: Explanation) => ReactNode;
  /** Stands below the request of a target. */
  readonly renderFoot?: (target: ExplainedTarget) => ReactNode;
}

/** Asks once; what the body becomes later does not ask again. Give it another key to ask anew. */
export function ExplainedPlan({ body, projectId, replayed, renderHead, renderFoot }: ExplainedPlanProps) {
  const api = useApi();
  const own = useId();
  const { data, error, refetch } = useQuery<Explanation, ApiError>({
    queryKey: ["explanation", own],
    queryFn: ({ signal }) =>
      api.send<Explanation>("POST", "/v1/chat/completions", {
        body,
        signal,
        headers: {
          "x-gateway-explain": "true",
          "x-gateway-project-id": projectId,
          ...(replayed !== undefined && { "x-gateway-replay-of": replayed }),
        },
      }),
    gcTime: 0,
    staleTime: Infinity,
    placeholderData: () => undefined,
    retry: false,
  });
  if (error !== null) return <Problem what={refusedText(error)} error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Pending what="The plan" />;
  return (
    <>
      {renderHead?.(data)}
      <p>
        Route: <code>{visibleText(data.route)}</code>
      </p>
      <ol className="plan">
        {data.targets.map((target) => (
          <li key={target.order}>
            <Target target={target} />
            {renderFoot?.(target)}
          </li>
        ))}
      </ol>
      {data.limits.map(({ id, kind, mode, fits }) => (
        <p key={id}>
          {kind} <code>{visibleText(id)}</code>: {fits ? "has room" : "has no room for the call now"}
          {mode === "audit" ? ", and only records" : ""}
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

/** Of a gateway that could not explain the call, nothing is known. */
function refusedText({ status }: ApiError): string {
  return status !== null && status < 500 ? "The call would be refused." : "The call could not be explained.";
}

function Target({
  target: { order, target, why, passed_over: passed, ...planned },
}: {
  readonly target: ExplainedTarget;
}) {
  const { parameters = [], request, estimate } = planned;
  return (
    <>
      <h3>
        {order}. {visibleText(target)}
      </h3>
      <p>{visibleText(why)}</p>
      {passed !== undefined && (
        <p>
          It is left out with <code>{passed.code}</code>: {visibleText(passed.message)}
        </p>
      )}
      {estimate !== undefined && (
        <p className="hint">
          About {counted(estimate.prompt_tokens, "token")} in
          {estimate.completion_tokens_bound !== null && `, at most ${wholeCount(estimate.completion_tokens_bound)} out`}
          ;{" "}
          {estimate.cost_usd.total_bound === null
            ? "no bound of the cost"
            : `at most $${estimate.cost_usd.total_bound}`}
          .
        </p>
      )}
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
      {request !== undefined && (
        <details>
          <summary>
            {request.method} {visibleText(request.url)}
          </summary>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls has to be reached by keyboard */}
          <pre className="code" tabIndex={0} aria-label={`Body for ${target}`}>
            {visibleText(JSON.stringify(request.body, null, 2))}
          </pre>
        </details>
      )}
    </>
  );
}
