// Who could call what at a time in the past: users with their roles, and the access tokens that were valid then.
import type { AccessAsOf } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { Empty } from "../../components/empty.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { TableBox } from "../../components/table-box.tsx";
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
  const { data, error, refetch, isPlaceholderData } = useRead<AccessAsOf>(path);
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
    <TableBox label="Users">
      <table>
        <caption className="unseen">Users and their roles then</caption>
        <thead>
          <tr>
            <th scope="col">User</th>
            <th scope="col">Name</th>
            <th scope="col">Roles</th>
          </tr>
        </thead>
        <tbody>
          {users.map((user) => (
            <tr key={user.id}>
              <th scope="row">
                {visibleText(user.id)} {user.operator && <span className="badge">operator</span>}
              </th>
              <td>{visibleText(user.name)}</td>
              <td>
                {rolesText(user.roles)}
                {user.company_login && <small> and what the company login gave</small>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function Tokens({ tokens }: Pick<AccessAsOf, "tokens">) {
  if (tokens.length === 0) return <Empty title="No access token was valid for this then" />;
  return (
    <TableBox label="Access tokens">
      <table>
        <caption className="unseen">Access tokens that were valid then</caption>
        <thead>
          <tr>
            <th scope="col">Token</th>
            <th scope="col">User</th>
            <th scope="col">Roles</th>
            <th scope="col">Permissions</th>
            <th scope="col">Models</th>
            <th scope="col">Routes</th>
            <th scope="col">Tools</th>
            <th scope="col">From</th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id}>
              <th scope="row">
                {visibleText(token.name)} <small>{token.id}</small>
              </th>
              <td>{visibleText(token.user_id ?? "–")}</td>
              <td>{rolesText(token.roles)}</td>
              <td>{token.permissions.join(", ") || "none"}</td>
              <td>
                {visibleText(token.models.join(", ") || (token.routes.length === 0 ? "all" : "those of its routes"))}
              </td>
              <td>{visibleText(token.routes.join(", ") || "all")}</td>
              <td>{visibleText(token.tools.join(", ") || "all")}</td>
              <td>{visibleText(token.ip.join(", ") || "anywhere")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function rolesText(roles: AccessAsOf["users"][number]["roles"]): string {
  const texts = roles.map(({ role, project_id: project }) => (project === null ? role : `${role} in ${project}`));
  return visibleText(texts.join(", ") || "none");
}
