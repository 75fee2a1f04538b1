// Who could call what at a time in the past: users with their roles, and the access tokens that were valid then.
import type { AccessAsOf } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { Empty } from "../../components/empty.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { localTime, timeInZone } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useZone } from "../../use-zone.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { type UrlState, useUrlState } from "../../url-state.ts";

/** As parameters of the admin API, which are also their names in the address. */
export const NARROWING = [
  ["project_id", "Project"],
  ["model", "Model"],
  ["route", "Route"],
] as const;

export function AccessAsOfView() {
  const scope = useScope();
  const state = useUrlState();
  const at = state.get("at");
  const query = state.only(["at", ...NARROWING.map(([name]) => name)]);
  const path = at === null ? null : `${adminPath(scope, "/audit/as_of")}?${query.toString()}`;
  const { data, error, refetch, isPlaceholderData } = useRead<AccessAsOf>(path, { isLong: true });
  return (
    <>
      <Question state={state} />
      {at === null && (
        <Empty title="Choose a time">
          <p>What the audit log says of later changes is taken back from what there is now.</p>
        </Empty>
      )}
      {error !== null && <Problem what="It is not known." error={error} retry={() => void refetch()} />}
      {at !== null && data === undefined && error === null && <Pending what="The access then" lines={6} />}
      {at !== null && data !== undefined && error === null && (
        <div className={`call-page ${isPlaceholderData ? "old" : ""}`}>
          <p>
            At <TimeText at={data.at} form="day" />, with version {data.configuration_version} of the configuration.
          </p>
          <h2>Users</h2>
          <Users users={data.users} />
          <h2>Access tokens that could call</h2>
          <Tokens tokens={data.tokens} />
        </div>
      )}
    </>
  );
}

function Question({ state }: { readonly state: UrlState }) {
  const zone = useZone();
  const atMs = Date.parse(state.get("at") ?? "");
  return (
    <div className="form-row audit-filter">
      <label className="field">
        Time ({zone})
        <input
          type="datetime-local"
          value={Number.isNaN(atMs) ? "" : localTime(atMs, zone)}
          onChange={(event) => state.set({ at: timeInZone(event.target.value, zone) }, { replace: true })}
        />
      </label>
      {NARROWING.map(([name, label]) => (
        <label key={name} className="field">
          {label}
          <input
            value={state.get(name) ?? ""}
            spellCheck={false}
            autoComplete="off"
            placeholder={name === "model" ? "provider:model" : "all"}
            onChange={(event) => state.set({ [name]: event.target.value }, { replace: true })}
          />
        </label>
      ))}
    </div>
  );
}

function Users({ users }: Pick<AccessAsOf, "users">) {
  if (users.length === 0) return <Empty title="Nobody had a role then" />;
  return (
    <DataTable
      label="Users"
      caption="Users and their roles then"
      rows={users}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "User",
          render: ({ id, operator }) => (
            <>
              {visibleText(id)} {operator && <span className="badge">operator</span>}
            </>
          ),
        },
        { head: "Name", render: ({ name }) => visibleText(name) },
        {
          head: "Roles",
          render: (user) => (
            <>
              {rolesText(user.roles)}
              {user.company_login && <small> and what the company login gave</small>}
            </>
          ),
        },
      ]}
    />
  );
}

function Tokens({ tokens }: Pick<AccessAsOf, "tokens">) {
  if (tokens.length === 0) return <Empty title="No access token was valid for this then" />;
  return (
    <DataTable
      label="Access tokens"
      caption="Access tokens that were valid then"
      rows={tokens}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Token",
          render: ({ id, name }) => (
            <>
              {visibleText(name)} <small>{id}</small>
            </>
          ),
        },
        { head: "User", render: ({ user_id: user }) => visibleText(user ?? "–") },
        { head: "Roles", render: ({ roles }) => rolesText(roles) },
        { head: "Permissions", render: ({ permissions }) => permissions.join(", ") || "none" },
        {
          head: "Models",
          render: ({ models, routes }) =>
            visibleText(models.join(", ") || (routes.length === 0 ? "all" : "those of its routes")),
        },
        { head: "Routes", render: ({ routes }) => visibleText(routes.join(", ") || "all") },
        { head: "Tools", render: ({ tools }) => visibleText(tools.join(", ") || "all") },
        { head: "From", render: ({ ip }) => visibleText(ip.join(", ") || "anywhere") },
      ]}
    />
  );
}

function rolesText(roles: AccessAsOf["users"][number]["roles"]): string {
  const texts = roles.map(({ role, project_id: project }) => (project === null ? role : `${role} in ${project}`));
  return visibleText(texts.join(", ") || "none");
}
