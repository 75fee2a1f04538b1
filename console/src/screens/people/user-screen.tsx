// `/people/<id>`: one user of a tenant, with the user's sessions of the console and the history of the user and of the role in the tenant.
import { AsCode } from "../../components/as-code.tsx";
import type { User } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { Empty } from "../../components/empty.tsx";
import { TextFacts } from "../../components/facts.tsx";
import { Tabs, useTab } from "../../components/tabs.tsx";
import { TargetHistory } from "../../configured/target-history.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { adminPath, type Scope } from "../../scope/scope.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { callsPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";
import { SessionList } from "./session-list.tsx";
import { Unread } from "../../components/unread.tsx";

const TABS = [
  { name: "about", label: "About" },
  { name: "sessions", label: "Sessions" },
  { name: "history", label: "History" },
];

export function UserScreen({ id }: { readonly id: string }) {
  const me = useMe();
  const { tenant } = useScope();
  const scope: Scope = { tenant: tenant ?? me.tenant_id, project: null };
  const isAllowed = may(me, scope, "readUser");
  const [tab, choose] = useTab(TABS);
  const path = adminPath(scope, `/users/${encodeURIComponent(id)}`);
  const { data: user, error, refetch } = useRead<User>(isAllowed ? path : null, { keepsPrevious: false });
  return (
    <div className="call-page">
      <p>
        <ScopedLink scope={scope} to="/people">
          People
        </ScopedLink>
      </p>
      <div className="title-row">
        <h1>{visibleText(user?.name ?? id)}</h1>
        {isAllowed && <AsCode path={path} />}
      </div>
      {!isAllowed && (
        <Empty title="You may not see this user">
          <p>Users belong to the whole tenant. Its admins and owners see them.</p>
        </Empty>
      )}
      {isAllowed && <Unread what="The user" of={{ data: user, error, refetch }} />}
      {user !== undefined && (
        <Tabs label="About the user" tabs={TABS} chosen={tab} choose={choose}>
          {tab === "about" && <About user={user} scope={scope} />}
          {tab === "sessions" && (
            <SessionList
              path={adminPath(scope, "/sessions")}
              userId={user.id}
              mayEnd={may(me, scope, "end*Session")}
              none="This user is not logged in"
            />
          )}
          {tab === "history" && <History user={user} />}
        </Tabs>
      )}
    </div>
  );
}

function About({ user, scope }: { readonly user: User; readonly scope: Scope }) {
  const facts = [
    ["Id", user.id],
    ["Email", user.email ?? "none"],
    ["Company login", user.login === null ? "none" : `${user.login.subject} of ${user.login.issuer}`],
    ["Operator", user.operator ? "yes, of the whole gateway" : "no"],
  ] as const;
  return (
    <div className="call-page">
      <section className="panel" aria-label="Who it is">
        <div className="panel-body">
          <dl className="pairs">
            <TextFacts facts={facts} />
          </dl>
          <p>
            <ScopedLink scope={scope} to={callsPath([termText("user", user.id)], { range: "30d" })}>
              The calls of this user in the last 30 days
            </ScopedLink>
          </p>
        </div>
      </section>
    </div>
  );
}

function History({ user }: { readonly user: User }) {
  return (
    <div className="call-page">
      <section>
        <h2>The user</h2>
        <TargetHistory kind="user" targetId={user.id} what="user" />
      </section>
      <section>
        <h2>The role in the tenant</h2>
        <TargetHistory kind="membership" targetId={`${user.id}/`} what="role" />
      </section>
    </div>
  );
}
