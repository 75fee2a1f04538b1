// Who has looked into a call since: readings of what was said, explanations and replays, as the audit log has them. It is read when it is opened.
import { useState } from "react";
import type { CallDetail } from "../../api/types.ts";
import { TargetHistory } from "../../configured/target-history.tsx";
import { useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";

export function CallHistory({ call }: { readonly call: CallDetail }) {
  const me = useMe();
  const scope = useScope();
  const [isOpen, setIsOpen] = useState(false);
  if (!may(me, scope, "list*Audit")) return null;
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Who has read, explained or replayed it</summary>
      {isOpen && (
        <TargetHistory targetId={call.trace_id} what="call" none="Nobody has read, explained or replayed this call" />
      )}
    </details>
  );
}
