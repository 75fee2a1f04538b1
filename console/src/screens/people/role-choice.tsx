// The role of a user in a tenant or a project, changed where it stands: what is chosen is sent by a button, because a list is
// changed by a key or a wheel as well. The version that was shown is sent along.
import { useState } from "react";
import { Problem } from "../../components/problem.tsx";
import type { Membership } from "../../api/types.ts";
import { useWrite } from "../../api/use-write.ts";
import type { ShownRequest } from "../../api/command-of.ts";

const FIRST_ROLE = "developer";

interface RoleChoiceProps {
  /** Of the memberships, such as `/v1/admin/tenants/acme/memberships`. */
  readonly path: string;
  readonly userId: string;
  readonly membership: Membership | undefined;
  readonly roles: readonly string[];
  readonly isReadOnly: boolean;
}

interface ChosenRole {
  /** Empty for none. */
  readonly role: string;
  /** What the list had when it was chosen. */
  readonly seen: Membership | undefined;
  readonly isGiven: boolean;
}

/** What the choice can do, by its name, with the role that is shown. */
export function roleActions({
  path,
  userId,
  membership,
}: Pick<RoleChoiceProps, "path" | "userId" | "membership">): Readonly<Record<string, ShownRequest | null>> {
  const role = membership?.role ?? FIRST_ROLE;
  return {
    [`Give the role ${role}`]: roleRequest(path, userId, role),
    "Take the role away": membership === undefined ? null : roleRequest(path, userId, ""),
  };
}

/** The ETag of a membership that is not there yet: one that somebody else has made meanwhile is not overwritten. */
const NOT_THERE = '"0.0"';
export const ifStill = (seen: Membership | undefined): Readonly<Record<string, string>> => ({
  "if-match": seen?.etag ?? NOT_THERE,
});

/** No role is an empty one. */
export function roleRequest(path: string, userId: string, role: string): ShownRequest {
  const own = `${path}/${encodeURIComponent(userId)}`;
  return role === "" ? { method: "DELETE", path: own } : { method: "PUT", path: own, body: { role } };
}

export function RoleChoice({ path, userId, membership, roles, isReadOnly }: RoleChoiceProps) {
  const { isBusy, failure, ask } = useWrite();
  const [lastChosen, setChosen] = useState<ChosenRole | null>(null);
  const current = membership?.role ?? "";
  // a role that was given is shown until the list has been read again
  const isRead = lastChosen?.isGiven === true && lastChosen.seen?.etag !== membership?.etag;
  if (isRead) setChosen(null);
  const chosen = isRead ? null : lastChosen;
  const send = async (sending: ChosenRole): Promise<void> => {
    const sent = await ask(roleRequest(path, userId, sending.role), ifStill(sending.seen));
    if (sent !== undefined) setChosen({ ...sending, isGiven: true });
  };
  return (
    <>
      <select
        aria-label={`Role of ${userId}`}
        value={chosen?.role ?? current}
        disabled={isBusy || isReadOnly}
        onChange={({ target: { value } }) =>
          setChosen(value === current ? null : { role: value, seen: membership, isGiven: false })
        }
      >
        <option value="">no role</option>
        {[...new Set([...roles, ...(membership === undefined ? [] : [membership.role])])].map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
      {chosen !== null && !chosen.isGiven && (
        <button type="button" disabled={isBusy} onClick={() => void send(chosen)}>
          {chosen.role === "" ? "Take the role away" : `Give the role ${chosen.role}`}
          <span className="unseen"> {userId}</span>
        </button>
      )}
      {failure !== null && <Problem what="The role was not changed." error={failure} />}
    </>
  );
}
