// Who has a role in a project. Roles in the whole tenant count as well, and are shown with the tenant.
import { useState } from "react";
import { useRead } from "../../api/use-api.tsx";
import { ActionsAsCode } from "../../components/as-code.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Select, TextInput } from "../../components/controls/labelled.tsx";
import { Problem } from "../../components/problem.tsx";
import { Unread } from "../../components/unread.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import type { ProjectMembershipList } from "../../api/types.ts";
import { PAGE, PROJECT_ROLES } from "./people-api.ts";
import { ifStill, RoleChoice, roleActions, roleRequest } from "./role-choice.tsx";
import { useWrite } from "../../api/use-write.ts";

interface ProjectRolesProps {
  readonly tenant: string;
  readonly project: string;
}

export function ProjectRoles({ tenant, project }: ProjectRolesProps) {
  const me = useMe();
  const scope = { tenant, project };
  const path = adminPath(scope, "/memberships");
  const { data, error, refetch } = useRead<ProjectMembershipList>(path + PAGE);
  const mayPut = may(me, scope, "put*Membership");
  return (
    <>
      <p className="hint">
        A role in the whole tenant also applies to this project; those roles are listed at{" "}
        <ScopedLink scope={{ tenant, project: null }} to="/people">
          the tenant
        </ScopedLink>
        .
      </p>
      {mayPut && <NewRole path={path} />}
      <Unread what="The roles" pending="The list of roles" of={{ data, error, refetch }} />
      {data !== undefined && data.data.length === 0 && (
        <Empty title="No roles are assigned in this project itself">
          <p>Give a user a role above, and the user can work in this project and in no other.</p>
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && (
        <DataTable
          label="Roles"
          caption="Roles in the project"
          rows={data.data}
          keyOf={({ user_id: id }) => id}
          columns={[
            { head: "User", render: ({ user_id: id }) => visibleText(id) },
            {
              head: "Role",
              render: (membership) => (
                <RoleChoice
                  path={path}
                  userId={membership.user_id}
                  membership={membership}
                  roles={PROJECT_ROLES}
                  isReadOnly={!mayPut}
                />
              ),
            },
            {
              head: "What can be done",
              hidesHead: true,
              render: (membership) =>
                mayPut && (
                  <ActionsAsCode
                    of={`of ${membership.user_id}`}
                    actions={roleActions({ path, userId: membership.user_id, membership })}
                  />
                ),
            },
          ]}
        />
      )}
      {data?.next_cursor != null && <p className="hint">The first 1,000 roles are shown.</p>}
    </>
  );
}

/** A role that a user has already is changed in the list, where it is seen. */
function NewRole({ path }: { readonly path: string }) {
  const { isBusy, failure, ask } = useWrite();
  const [userId, setUserId] = useState("");
  const [role, setRole] = useState("developer");
  const request = roleRequest(path, userId, role);
  const give = async (): Promise<void> => {
    if ((await ask(request, ifStill(undefined))) !== undefined) setUserId("");
  };
  return (
    <form
      className="form-row"
      onSubmit={(event) => {
        event.preventDefault();
        void give();
      }}
    >
      <TextInput label="Id of the user" value={userId} spellCheck={false} change={setUserId} />
      <Select
        label="Role in the project"
        value={role}
        choices={PROJECT_ROLES.map((one) => [one, one])}
        change={setRole}
      />
      <button type="submit" disabled={isBusy || userId === ""}>
        Give the role
      </button>
      {userId !== "" && <ActionsAsCode of="of the role" actions={{ "Give the role": request }} />}
      {failure !== null && <Problem what="The role was not given." error={failure} />}
    </form>
  );
}
