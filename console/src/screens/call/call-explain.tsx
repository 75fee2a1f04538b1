// Where the same request would go now, and what differs from then. Nothing is sent to a provider.
import { useState } from "react";
import type { CallDetail } from "../../api/types.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { ExplainedPlan } from "../../components/explained-plan.tsx";
import { NeedsDebug } from "../../components/needs-debug.tsx";
import { visibleText } from "../../format/visible-text.ts";
import type { RemadeRequest } from "./call-request.ts";
import { upstreamCurl } from "./request-code.ts";
import { differences } from "./then-and-now.ts";

interface CallExplainProps {
  readonly call: CallDetail;
  readonly request: RemadeRequest | null;
  /** How often it was asked for. */
  readonly asked: number;
  readonly ask: () => void;
}

export function CallExplain({ call, request, asked, ask }: CallExplainProps) {
  const [explained, setExplained] = useState<RemadeRequest | null>(null);
  const [seen, setSeen] = useState(asked);
  // the request as it was when the explanation was asked for
  if (asked !== seen) {
    setSeen(asked);
    setExplained(request);
  }
  if (request === null || call.project_id === null)
    return <p className="hint">Only a conversation that belongs to a project can be explained again.</p>;
  return (
    <NeedsDebug>
      <p className="actions">
        <button type="button" onClick={ask}>
          Explain it now
        </button>
        <span className="hint">The request is judged by the configuration of now. Nothing is sent to a provider.</span>
      </p>
      {explained !== null && (
        <ExplainedPlan
          key={asked}
          body={explained.body}
          projectId={call.project_id}
          replayed={call.trace_id}
          renderHead={(now) => (
            <ul className="differences">
              {differences(call, now).map((text) => (
                <li key={text}>{visibleText(text)}</li>
              ))}
              {explained.lacks.map((text) => (
                <li key={text} className="hint">
                  {visibleText(text)}
                </li>
              ))}
            </ul>
          )}
          renderFoot={({ request: upstream }) =>
            upstream !== undefined && (
              <p className="actions">
                <CopyButton label="Copy as curl to the provider" text={upstreamCurl(upstream)} />
              </p>
            )
          }
        />
      )}
    </NeedsDebug>
  );
}
