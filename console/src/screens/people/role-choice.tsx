// The role of a user in a tenant or a project, changed where it stands. The version that is shown is sent along.
import { Problem } from "../../components/problem.tsx";
import type { Membership } from "./people-api.ts";
import { useWrite } from "../../api/use-write.ts";

interface RoleChoiceProps {
  /** Of the memberships, such as `/v1/admin/tenants/acme/memberships`. */
  readonly path: string;
  readonly userId: string;
  readonly membership: Membership | undefined;
  readonly roles: readonly string[];
  readonly isReadOnly: boolean;
}

export function RoleChoice({ path, userId, membership, roles, isReadOnly }: RoleChoiceProps) {
  const { isBusy, failure, send } = useWrite();
  const own = `${path}/${encodeURIComponent(userId)}`;
  const seen = membership === undefined ? {} : { "if-match": membership.etag };
  const choose = (role: string): void =>
    void (role === "" ? send("DELETE", own, undefined, seen) : send("PUT", own, { role }, seen));
  return (
    <>
      <select
        aria-label={`Role of ${userId}`}
        value={membership?.role ?? ""}
        disabled={isBusy || isReadOnly}
        onChange={(event) => choose(event.target.value)}
      >
        <option value="">no role</option>
        {[...new Set([...roles, ...(membership === undefined ? [] : [membership.role])])].map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
      {failure !== null && <Problem what="The role was not changed." error={failure} />}
    </>
  );
}
