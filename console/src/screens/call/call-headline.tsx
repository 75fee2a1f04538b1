// What became of a call, in a line: the status, when it was, and its id; and what decided it, in a sentence.
import type { CallDetail } from "../../api/types.ts";
import { useClock } from "../../clock.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { useState } from "react";
import { StatusMark } from "../../components/status-mark.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { callAddress } from "../../console-path.ts";
import { ageOf } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ServedBy } from "../calls/calls-table.tsx";

export function CallHeadline({ call }: { readonly call: CallDetail }) {
  const clock = useClock();
  const [nowMs] = useState(clock);
  return (
    <div className="headline">
      <StatusMark call={call} />
      <span>
        <TimeText at={call.at} form="day" /> <small>({ageOf(Date.parse(call.at), nowMs)})</small>
      </span>
      <ServedBy call={call} />
      <code>{call.trace_id}</code>
      <CopyButton label="Copy link" text={callAddress(call.trace_id)} />
    </div>
  );
}

/** What decided a call, and what else was out of the ordinary. */
export function CallVerdict({ call }: { readonly call: CallDetail }) {
  if (call.verdict === null) return null;
  return (
    <div>
      <p className="verdict">{visibleText(call.verdict.text)}</p>
      {call.verdict.notes.map((note) => (
        <p key={note}>{visibleText(note)}</p>
      ))}
    </div>
  );
}

/** Stands in the place of what only the record of a call would tell. */
export function NoDetails() {
  return <p className="hint">The details of this call are older than the gateway keeps them; its figures stay.</p>;
}
