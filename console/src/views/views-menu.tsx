// The saved views of a screen: those of the reader and of the project, as links that can be changed, and the state of the page to be saved as
// another one.
import { type SubmitEvent, useId, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import type { View, ViewList } from "../api/types.ts";
import { useRead } from "../api/use-api.tsx";
import { useWrite } from "../api/use-write.ts";
import { ActionsAsCode } from "../components/as-code.tsx";
import { Menu } from "../components/controls/menu.tsx";
import { Problem } from "../components/problem.tsx";
import { visibleText } from "../format/visible-text.ts";
import { useScope } from "../scope/scope-context.tsx";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import { ChangeSavedView } from "./change-saved-view.tsx";
import { savedQuery, VIEWS } from "./saved-query.ts";
import { Unread } from "../components/unread.tsx";

/** `screen` is its name in the path, such as `calls`. What is open beside a list belongs to no view. */
export function ViewsMenu({ screen }: { readonly screen: string }) {
  return (
    <Menu label="Views" side="end" isLazy>
      {(close) => <Views screen={screen} close={close} />}
    </Menu>
  );
}

const OWN = "/v1/admin/views";

function Views({ screen, close }: { readonly screen: string; readonly close: () => void }) {
  const { project } = useScope();
  const me = useMe();
  const scope = useScope();
  const ofProject = project !== null && may(me, scope, "list*Views") ? projectPath(project) : null;
  return (
    <div className="views">
      <List title="Yours" path={OWN} screen={screen} mayChange close={close} />
      {ofProject !== null && (
        <List
          title={`Of ${project}`}
          path={ofProject}
          screen={screen}
          mayChange={may(me, scope, "update*View")}
          close={close}
        />
      )}
      <SaveForm screen={screen} project={ofProject !== null && may(me, scope, "create*View") ? project : null} />
    </div>
  );
}

const projectPath = (project: string): string => `/v1/admin/projects/${encodeURIComponent(project)}/views`;

interface ListProps {
  readonly title: string;
  readonly path: string;
  readonly screen: string;
  readonly mayChange: boolean;
  readonly close: () => void;
}

function List({ title, path, screen, mayChange, close }: ListProps) {
  const { data, error, refetch } = useRead<ViewList>(`${path}?screen=${encodeURIComponent(screen)}`);
  const { send, isBusy, failure } = useWrite(VIEWS);
  const [place] = useLocation();
  const [changed, setChanged] = useState<string | null>(null);
  return (
    <section>
      <h2>{title}</h2>
      <Unread what="The views" lines={1} of={{ data, error, refetch }} />
      {failure !== null && <Problem what="The view was not deleted." error={failure} />}
      {data?.data.length === 0 && <p className="hint">None yet.</p>}
      <ul>
        {data?.data.map((view) => (
          <li key={view.id}>
            <Link href={hrefOf(place, view)} onClick={close}>
              {visibleText(view.name)}
              {view.is_default && <small> begins here</small>}
            </Link>
            {mayChange && (
              <>
                <button
                  type="button"
                  className="quiet"
                  aria-expanded={changed === view.id}
                  aria-label={`Change the view ${view.name}`}
                  onClick={() => setChanged(changed === view.id ? null : view.id)}
                >
                  Change
                </button>
                <button
                  type="button"
                  className="quiet"
                  disabled={isBusy}
                  aria-label={`Delete the view ${view.name}`}
                  onClick={() => void send("DELETE", ofView(path, view), undefined, { "if-match": view.etag })}
                >
                  Delete
                </button>
              </>
            )}
            {changed === view.id && (
              <ChangeSavedView key={view.etag} view={view} path={ofView(path, view)} close={() => setChanged(null)} />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

const ofView = (path: string, { id }: View): string => `${path}/${encodeURIComponent(id)}`;
const hrefOf = (place: string, { query }: View): string => (query === "" ? place : `${place}?${query}`);

function SaveForm({ screen, project }: { readonly screen: string; readonly project: string | null }) {
  const search = useSearch();
  const id = useId();
  const [name, setName] = useState("");
  const [isShared, setIsShared] = useState(false);
  const [isDefault, setIsDefault] = useState(false);
  const { ask, isBusy, failure } = useWrite(VIEWS);
  const request = {
    method: "POST",
    path: isShared && project !== null ? projectPath(project) : OWN,
    body: { screen, name, query: savedQuery(search), is_default: isDefault },
  } as const;
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const saved = await ask<View>(request);
    if (saved !== undefined) setName("");
  };
  return (
    <form className="form" onSubmit={(event) => void save(event)}>
      <h2>Save what is shown</h2>
      <label htmlFor={id}>Name</label>
      <input id={id} value={name} maxLength={100} required onChange={(event) => setName(event.target.value)} />
      {project !== null && (
        <label>
          <input type="checkbox" checked={isShared} onChange={(event) => setIsShared(event.target.checked)} /> For
          everybody in {project}
        </label>
      )}
      <label>
        <input type="checkbox" checked={isDefault} onChange={(event) => setIsDefault(event.target.checked)} /> The
        screen begins with it
      </label>
      {failure !== null && <Problem what="The view was not saved." error={failure} />}
      <p className="actions">
        <button type="submit" disabled={isBusy}>
          {isBusy ? "Saving…" : "Save"}
        </button>
        {name !== "" && <ActionsAsCode of="of saving the view" actions={{ "Save what is shown": request }} />}
      </p>
    </form>
  );
}
