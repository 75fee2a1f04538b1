// Chooses the tenant and the project that the pages are about. The screen stays the same. New ones are made here too.
import { useState } from "react";
import { useLocation } from "wouter";
import { loadedOnUse } from "../components/loaded-on-use.tsx";
import { Menu } from "../components/controls/menu.tsx";
import { ScopedLink, useScope } from "../scope/scope-context.tsx";
import { placeOf, type Scope, titleOf } from "../scope/scope.ts";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";

interface Entry {
  readonly scope: Scope;
  readonly name: string;
  readonly role: string;
}

const SEARCH_FROM = 8;

const NewPlace = loadedOnUse(async () => (await import("./new-place.tsx")).NewPlace, null);

export function ScopeMenu() {
  const scope = useScope();
  const me = useMe();
  const [location] = useLocation();
  const [wanted, setWanted] = useState("");
  const [making, setMaking] = useState<"tenant" | "project" | null>(null);
  const mayMakeProject = scope.tenant !== null && may(me, { tenant: scope.tenant, project: null }, "createProject");
  const mayMakeTenant = may(me, { tenant: null, project: null }, "createTenant");
  const makes = [...(mayMakeProject ? (["project"] as const) : []), ...(mayMakeTenant ? (["tenant"] as const) : [])];
  const screen = `/${placeOf(location)?.path.split("/")[1] ?? ""}`;
  const nameOf = ({ tenant, project }: Scope): string =>
    me.places.find(({ tenant_id: one, project_id: other }) => one === tenant && other === project)?.name ??
    titleOf({ tenant, project });
  const entries = entriesOf(me).filter(({ name, scope: { tenant, project } }) =>
    `${name} ${tenant} ${project}`.toLowerCase().includes(wanted.toLowerCase()),
  );
  return (
    <>
      <Menu
        className="scope-button"
        label={
          <>
            <span className="scope-name">{nameOf(scope)}</span>
            {scope.project !== null && (
              <span className="scope-of">{nameOf({ tenant: scope.tenant, project: null })}</span>
            )}
            <span aria-hidden="true">▾</span>
            <span className="unseen">, choose a tenant or project</span>
          </>
        }
      >
        {(close) => (
          <>
            {me.places.length >= SEARCH_FROM && (
              <input
                type="search"
                aria-label="Filter tenants and projects"
                placeholder="Filter"
                value={wanted}
                onChange={(event) => setWanted(event.target.value)}
              />
            )}
            <ul>
              {entries.map(({ scope: entry, name, role }) => (
                <li key={`${entry.tenant}/${entry.project}`}>
                  <ScopedLink
                    scope={entry}
                    to={screen === "/" ? "/" : screen}
                    className={entry.project === null ? "" : "inner"}
                    aria-current={entry.tenant === scope.tenant && entry.project === scope.project ? "true" : undefined}
                    onClick={close}
                  >
                    <span>{name}</span> <small>{role}</small>
                  </ScopedLink>
                </li>
              ))}
            </ul>
            {me.more_places && (
              <p className="hint">There are more. Put the tenant and the project into the address of the page.</p>
            )}
            {makes.length > 0 && (
              <p className="actions menu-actions">
                {makes.map((kind) => (
                  <button
                    key={kind}
                    type="button"
                    onClick={() => {
                      close();
                      setMaking(kind);
                    }}
                  >
                    New {kind}
                  </button>
                ))}
              </p>
            )}
          </>
        )}
      </Menu>
      {making !== null && (
        <NewPlace tenant={making === "project" ? scope.tenant : null} close={() => setMaking(null)} />
      )}
    </>
  );
}

function entriesOf(me: ReturnType<typeof useMe>): readonly Entry[] {
  const tenants = [...new Set(me.places.map(({ tenant_id }) => tenant_id))];
  const all = { scope: { tenant: null, project: null }, name: "All tenants", role: "operator" };
  return [
    ...(me.operator ? [all] : []),
    ...tenants.flatMap((tenant) =>
      me.places
        .filter(({ tenant_id }) => tenant_id === tenant)
        .map(({ project_id, name, role }) => ({ scope: { tenant, project: project_id }, name, role })),
    ),
  ];
}
