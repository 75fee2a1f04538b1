// The reader's own sessions of the console, and a way to end each.
import { useMe } from "../../session/session.tsx";
import { SessionList } from "../people/session-list.tsx";

const PATH = "/v1/admin/sessions";

export function OwnSessionsTab() {
  const mayEnd = useMe().can.own.includes("endSession");
  return (
    <div className="call-page">
      <SessionList path={PATH} mayEnd={mayEnd} none="You have no session" />
    </div>
  );
}
