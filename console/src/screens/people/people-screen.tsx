// `/people`: in a tenant its users with their roles and the sessions of the console, in a project who has which role there.
import { AsCode } from "../../components/as-code.tsx";
import { Tabs, useTab } from "../../components/tabs.tsx";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { CompanyLoginList } from "./company-logins.tsx";
import { ProjectRoles } from "./project-roles.tsx";
import { SessionList } from "./session-list.tsx";
import { UserList } from "./user-list.tsx";

const VIEWS = {
  users: { View: UserList, path: "/users" },
  sessions: { View: TenantSessions, path: "/sessions" },
  logins: { View: CompanyLoginList, path: "/logins" },
} as const;

export function PeopleScreen() {
  const scope = useScope();
  const me = useMe();
  const tabs = [
    { name: "users", label: "Users" },
    ...(may(me, scope, "list*Sessions") ? [{ name: "sessions", label: "Sessions" }] : []),
    ...(may(me, scope, "list*Logins") ? [{ name: "logins", label: "Company logins" }] : []),
  ];
  const [tab, choose] = useTab(tabs);
  const { View, path } = VIEWS[tab as keyof typeof VIEWS];
  if (scope.project !== null)
    return (
      <div className="people">
        <div className="title-row">
          <h1>People of {scope.project}</h1>
          <AsCode path={adminPath(scope, "/memberships")} />
        </div>
        <ProjectRoles tenant={scope.tenant ?? me.tenant_id} project={scope.project} />
      </div>
    );
  return (
    <div className="people">
      <div className="title-row">
        <h1>People</h1>
        <AsCode path={adminPath(scope, path)} />
      </div>
      <Tabs label="About people" tabs={tabs} chosen={tab} choose={choose}>
        <View tenant={scope.tenant!} />
      </Tabs>
    </div>
  );
}

function TenantSessions({ tenant }: { readonly tenant: string }) {
  const scope = { tenant, project: null };
  const mayEnd = may(useMe(), scope, "end*Session");
  return <SessionList path={adminPath(scope, "/sessions")} mayEnd={mayEnd} none="Nobody is logged in" />;
}
