// The company logins of a tenant, and which groups give which roles. They stand in the configuration file, and are changed there.
import type { CompanyLogin as Login, CompanyLogins } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Unread } from "../../components/unread.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { adminPath } from "../../scope/scope.ts";

export function CompanyLoginList({ tenant }: { readonly tenant: string }) {
  const { data, error, refetch } = useRead<CompanyLogins>(adminPath({ tenant, project: null }, "/logins"));
  if (error !== null || data === undefined) return <Unread what="The company logins" of={{ data, error, refetch }} />;
  if (data.data.length === 0)
    return (
      <Empty title="No company login is configured for this tenant">
        <p>
          An operator adds an issuer of OpenID Connect to <code>oidc</code> in the configuration file, with the groups
          that give roles.
        </p>
      </Empty>
    );
  return data.data.map((login) => <CompanyLogin key={login.name} login={login} />);
}

function CompanyLogin({ login }: { readonly login: Login }) {
  return (
    <section className="call-page">
      <h2>
        {visibleText(login.name)} {login.console && <span className="badge">opens the console</span>}
      </h2>
      <p className="hint">
        Of {visibleText(login.issuer)}. The roles are given at each login, in addition to those that the users have
        here, and are changed in the configuration file.
      </p>
      {login.roles.length === 0 ? (
        <Empty title="No claim gives a role" />
      ) : (
        <DataTable
          label={`Roles by ${login.name}`}
          caption="Which claims give which roles"
          rows={login.roles}
          keyOf={(_, index) => index}
          columns={[
            { head: "Claim", render: ({ claim }) => visibleText(claim) },
            { head: "Value", render: ({ value }) => visibleText(value ?? "any") },
            {
              head: "Role",
              render: ({ role, project_id: project, operator }) => (
                <>
                  {role}
                  {project !== null && ` in ${visibleText(project)}`}{" "}
                  {operator && <span className="badge">operator</span>}
                </>
              ),
            },
            { head: "Permissions", render: ({ permissions }) => permissions.join(", ") || "none" },
          ]}
        />
      )}
    </section>
  );
}
