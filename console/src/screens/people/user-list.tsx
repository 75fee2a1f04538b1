// The users of a tenant, with their roles in the whole tenant.
import { ActionsAsCode, AsCode } from "../../components/as-code.tsx";
import { useState } from "react";
import type { NewClaim } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { ClaimOnce } from "../../components/claim-once.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { Select, TextInput } from "../../components/controls/labelled.tsx";
import { Modal } from "../../components/modal.tsx";
import { OpenClaims } from "../../components/open-claims.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { adminPath, type Scope } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import type { Membership, TenantMembershipList, User, UserList } from "../../api/types.ts";
import { PAGE, TENANT_ROLES } from "./people-api.ts";
import { RoleChoice, roleActions } from "./role-choice.tsx";
import { useWrite } from "../../api/use-write.ts";
import type { ShownRequest } from "../../api/command-of.ts";

export function UserList({ tenant }: { readonly tenant: string }) {
  const me = useMe();
  const scope = { tenant, project: null };
  const users = adminPath(scope, "/users");
  const memberships = adminPath(scope, "/memberships");
  const { data, error, refetch } = useRead<UserList>(users + PAGE);
  const roles = useRead<TenantMembershipList>(memberships + PAGE);
  const [removed, setRemoved] = useState<User | null>(null);
  const [claim, setClaim] = useState<NewClaim | null>(null);
  return (
    <>
      {may(me, scope, "createUser") && <NewUser path={users} />}
      {error !== null && <Problem what="The users could not be read." error={error} retry={() => void refetch()} />}
      {roles.error !== null && (
        <Problem what="The roles could not be read." error={roles.error} retry={() => void roles.refetch()} />
      )}
      {data === undefined && error === null && <Pending what="The list of users" />}
      {data !== undefined && (
        <DataTable
          label="Users"
          caption="Users of the tenant"
          rows={data.data}
          keyOf={({ id }) => id}
          columns={[
            {
              head: "User",
              render: ({ id, operator }) => (
                <>
                  <ScopedLink to={`/people/${encodeURIComponent(id)}`}>{visibleText(id)}</ScopedLink>{" "}
                  {operator && <span className="badge">operator</span>}
                </>
              ),
            },
            { head: "Name", render: ({ name }) => visibleText(name) },
            { head: "Email", render: ({ email }) => visibleText(email ?? "–") },
            {
              head: "Company login",
              render: ({ login }) => (login === null ? "–" : <span className="cut">{visibleText(login.issuer)}</span>),
            },
            {
              head: "Role in the tenant",
              render: ({ id }) =>
                roles.data !== undefined && (
                  <RoleChoice
                    path={memberships}
                    userId={id}
                    membership={roleOf(roles.data, { id })}
                    roles={TENANT_ROLES}
                    isReadOnly={!may(me, scope, "put*Membership")}
                  />
                ),
            },
            {
              head: "What can be done",
              hidesHead: true,
              render: (user) => (
                <>
                  <ActionsAsCode
                    of={`of ${user.id}`}
                    actions={{
                      ...(may(me, scope, "put*Membership") &&
                        roles.data !== undefined &&
                        roleActions({ path: memberships, userId: user.id, membership: roleOf(roles.data, user) })),
                      Invite: may(me, scope, "create*Claim") ? invitation(user, scope) : null,
                    }}
                  />
                  {may(me, scope, "create*Claim") && <Invite user={user} scope={scope} made={setClaim} />}
                  {may(me, scope, "deleteUser") && (
                    <button type="button" className="quiet" onClick={() => setRemoved(user)}>
                      Remove<span className="unseen"> {user.id}</span>
                    </button>
                  )}
                </>
              ),
            },
          ]}
        />
      )}
      {data?.next_cursor != null && <p className="hint">The first 1,000 users are shown.</p>}
      <OpenClaims scope={scope} />
      {claim !== null && <ClaimOnce claim={claim} close={() => setClaim(null)} />}
      {removed !== null && <RemoveUser user={removed} path={users} close={() => setRemoved(null)} />}
    </>
  );
}

function NewUser({ path }: { readonly path: string }) {
  const { isBusy, failure, ask } = useWrite();
  const [user, setUser] = useState({ id: "", name: "", role: "developer" });
  const body = {
    id: user.id,
    ...(user.name !== "" && { name: user.name }),
    ...(user.role !== "" && { role: user.role }),
  };
  const request: ShownRequest = { method: "POST", path, body };
  const create = async (): Promise<void> => {
    if ((await ask(request)) !== undefined) setUser({ id: "", name: "", role: user.role });
  };
  return (
    <form
      className="form-row"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      {(["id", "name"] as const).map((name) => (
        <TextInput
          key={name}
          label={name === "id" ? "Id of a new user" : "Name"}
          value={user[name]}
          spellCheck={false}
          change={(value) => setUser({ ...user, [name]: value })}
        />
      ))}
      <Select
        label="Role in the tenant"
        value={user.role}
        choices={[["", "no role"], ...TENANT_ROLES.map((role) => [role, role] as const)]}
        change={(role) => setUser({ ...user, role })}
      />
      <button type="submit" disabled={isBusy || user.id === ""}>
        Add the user
      </button>
      {user.id !== "" && <ActionsAsCode of="of adding the user" actions={{ "Add the user": request }} />}
      {failure !== null && <Problem what="The user was not added." error={failure} />}
    </form>
  );
}

interface InviteProps {
  readonly user: User;
  readonly scope: Scope;
  readonly made: (claim: NewClaim) => void;
}

const roleOf = ({ data }: TenantMembershipList, { id }: Pick<User, "id">): Membership | undefined =>
  data.find(({ user_id: of }) => of === id);

/** Makes a link that gives the user a personal token, with which to log in and to call. */
const invitation = ({ id }: User, scope: Scope): ShownRequest => ({
  method: "POST",
  path: adminPath(scope, "/claims"),
  body: { name: `Token of ${id}`, user_id: id },
});

function Invite({ user, scope, made }: InviteProps) {
  const { ask, isBusy, failure } = useWrite();
  const invite = async (): Promise<void> => {
    const claim = await ask<NewClaim>(invitation(user, scope));
    if (claim !== undefined) made(claim);
  };
  return (
    <>
      <button type="button" className="quiet" disabled={isBusy} onClick={() => void invite()}>
        Invite<span className="unseen"> {user.id}</span>
      </button>
      {failure !== null && <Problem what="No link was made." error={failure} />}
    </>
  );
}

function RemoveUser({ user, path, close }: { readonly user: User; readonly path: string; readonly close: () => void }) {
  const { isBusy, failure, send } = useWrite();
  const remove = async (): Promise<void> => {
    const own = `${path}/${encodeURIComponent(user.id)}`;
    if ((await send("DELETE", own, undefined, { "if-match": user.etag })) !== undefined) close();
  };
  return (
    <Modal title={`Remove ${user.id}?`} close={close}>
      <p>
        The roles, personal tokens and sessions of {visibleText(user.name)} end at once. Calls that were made stay in
        the records.
      </p>
      {failure !== null && <Problem what="The user was not removed." error={failure} />}
      <p className="actions">
        <button type="button" className="danger" disabled={isBusy} onClick={() => void remove()}>
          Remove {user.id}
        </button>
        <button type="button" className="quiet" onClick={close}>
          Cancel
        </button>
        <AsCode method="DELETE" path={`${path}/${encodeURIComponent(user.id)}`} />
      </p>
    </Modal>
  );
}
