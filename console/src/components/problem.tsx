// What failed: what was asked, the status, the code and the trace id, with a way to try again and a report to copy.
import { ApiError } from "../api/api.ts";
import { visibleText } from "../format/visible-text.ts";
import { CopyButton } from "./copy-button.tsx";
import { TextFacts } from "./facts.tsx";

interface ProblemProps {
  readonly error: Error;
  readonly retry?: (() => void) | undefined;
  /** What could not be done, such as `The calls could not be read.` */
  readonly what: string;
}

export function Problem({ error, retry, what }: ProblemProps) {
  const facts = factsOf(error);
  return (
    <div className="problem" role="alert">
      <p>
        <strong>{what}</strong> {visibleText(error.message)}
      </p>
      {error instanceof ApiError && error.code === "not_found" && (
        <p>
          It may be gone, or belong to a tenant or project that you have no role in. An admin or owner of that tenant
          can give you one.
        </p>
      )}
      {error instanceof ApiError && error.code === "insufficient_role" && (
        <p>Someone with a higher role in this tenant or project can do this, or can give you that role.</p>
      )}
      <dl className="facts">
        <TextFacts facts={facts} />
      </dl>
      <p className="actions">
        {retry !== undefined && (
          <button type="button" onClick={retry}>
            Try again
          </button>
        )}
        <CopyButton
          label="Copy report"
          text={[what, error.message, ...facts.map(([name, value]) => `${name}: ${value}`)].join("\n")}
        />
      </p>
    </div>
  );
}

function factsOf(error: Error): readonly (readonly [string, string])[] {
  if (!(error instanceof ApiError)) return [];
  const { asked, status, code, param, traceId } = error;
  const facts = {
    Asked: asked,
    Status: status === null ? "no answer" : String(status),
    Code: code,
    Field: param,
    Trace: traceId,
  };
  return Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
}
