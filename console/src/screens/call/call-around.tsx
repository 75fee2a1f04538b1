// The calls near a call: of the same conversation, of the same end user, and with the same error.
import type { Call, CallDetail } from "../../api/types.ts";
import { StatusMark } from "../../components/status-mark.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { wholeCount } from "../../format/count.ts";
import { duration } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { summedPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";

const HOUR_MS = 3_600_000;

export function CallAround({ call }: { readonly call: CallDetail }) {
  if (call.around === null) return null;
  const { session, end_user: ofUser, error, errors } = call.around;
  const hasOthers = session.length + ofUser.length + error.length > 0;
  return (
    <>
      {call.trace_links.map(({ name, url }) => (
        <p key={name}>
          <a href={url} target="_blank" rel="noreferrer">
            Its trace in {visibleText(name)}
          </a>
        </p>
      ))}
      {!hasOthers && (
        <p className="hint">
          There is no other call {call.record !== null && "of the same conversation, "}of the same end user within five
          minutes, or with the same code in the same hour.
        </p>
      )}
      <Near title="Of the same conversation" calls={session} />
      <Near title={`Of ${visibleText(call.end_user ?? "")} within five minutes`} calls={ofUser} />
      <Near title={`With the code ${call.code ?? ""} in the same hour`} calls={error} />
      {call.code !== null && errors > error.length && (
        <p>
          <ScopedLink to={hourOf(call)}>
            {errors === 1 ? "The only call" : `All ${wholeCount(errors)} calls`} with this code in that hour
          </ScopedLink>
        </p>
      )}
    </>
  );
}

function hourOf({ at, code }: CallDetail): string {
  const fromMs = Math.floor(Date.parse(at) / HOUR_MS) * HOUR_MS;
  const iso = (ms: number): string => new Date(ms).toISOString();
  return summedPath([termText("code", code ?? "")], { from: iso(fromMs), to: iso(fromMs + HOUR_MS) });
}

function Near({ title, calls }: { readonly title: string; readonly calls: readonly Call[] }) {
  if (calls.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <ul className="near">
        {calls.map((call) => (
          <li key={call.trace_id}>
            <ScopedLink to={`/calls/${call.trace_id}`}>
              <TimeText at={call.at} />
            </ScopedLink>
            <StatusMark call={call} />
            <span className="cut">{visibleText(call.model_asked ?? call.model ?? "")}</span>
            <span>{duration(call.total_ms)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
