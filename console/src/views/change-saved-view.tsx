// Renames a saved view, makes it the one with which the screen begins, or gives it the state of the page. A change that somebody else has made
// meanwhile is not overwritten.
import { type SubmitEvent, useId, useState } from "react";
import { useSearch } from "wouter";
import type { View } from "../api/types.ts";
import { useWrite } from "../api/use-write.ts";
import { ActionsAsCode } from "../components/as-code.tsx";
import { Problem } from "../components/problem.tsx";
import { savedQuery, VIEWS } from "./saved-query.ts";

interface ChangeSavedViewProps {
  readonly view: View;
  /** Of the view in the admin API. */
  readonly path: string;
  readonly close: () => void;
}

export function ChangeSavedView({ view, path, close }: ChangeSavedViewProps) {
  const search = useSearch();
  const id = useId();
  const [name, setName] = useState(view.name);
  const [isDefault, setIsDefault] = useState(view.is_default);
  const [takesState, setTakesState] = useState(false);
  const { ask, isBusy, failure } = useWrite(VIEWS);
  const body = { name, is_default: isDefault, ...(takesState && { query: savedQuery(search) }) };
  const request = { method: "PATCH", path, body } as const;
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if ((await ask<View>(request, { "if-match": view.etag })) !== undefined) close();
  };
  return (
    <form className="form" onSubmit={(event) => void save(event)} aria-label={`Change the view ${view.name}`}>
      <label htmlFor={id}>New name</label>
      <input id={id} value={name} maxLength={100} required onChange={(event) => setName(event.target.value)} />
      <label>
        <input type="checkbox" checked={isDefault} onChange={(event) => setIsDefault(event.target.checked)} /> The
        screen begins with it
      </label>
      <label>
        <input type="checkbox" checked={takesState} onChange={(event) => setTakesState(event.target.checked)} /> Save
        what is shown now in it
      </label>
      {failure !== null && <Problem what="The view was not changed." error={failure} />}
      <p className="actions">
        <button type="submit" disabled={isBusy}>
          Save the change
        </button>
        <button type="button" className="quiet" onClick={close}>
          Cancel
        </button>
        <ActionsAsCode
          of={`of the view ${view.name}`}
          actions={{ "Save the change": request, "Delete the view": { method: "DELETE", path } }}
        />
      </p>
    </form>
  );
}
