// What became of a call, in a line: the status, when it was, and its id.
import type { CallDetail } from "../../api/types.ts";
import { useClock } from "../../clock.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { useState } from "react";
import { StatusMark } from "../../components/status-mark.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { callAddress } from "../../console-path.ts";
import { ageOf } from "../../format/time.ts";
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
