// Shows what would change, and saves it. Where somebody else has changed the object meanwhile, both changes are shown, and nothing is overwritten
// unless the reader wants that.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../api/api.ts";
import { useApi } from "../api/use-api.tsx";
import { Modal } from "../components/modal.tsx";
import { Problem } from "../components/problem.tsx";
import { ChangeView } from "./change-view.tsx";
import type { Fields } from "./fields.ts";
import { type ConfiguredObject, fieldsOf, type Noun } from "./noun.ts";

interface SaveDialogProps {
  readonly noun: Noun;
  readonly base: ConfiguredObject;
  readonly fields: Fields;
  readonly path: string;
  readonly close: () => void;
  /** Another version is what the draft is compared with from now on. */
  readonly rebase: (current: ConfiguredObject) => void;
  /** The editor shows this version, and has no draft any more. */
  readonly take: (saved: ConfiguredObject) => void;
}

export function SaveDialog({ noun, base, fields, path, close, rebase, take }: SaveDialogProps) {
  const api = useApi();
  const queries = useQueryClient();
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const [theirs, setTheirs] = useState<ConfiguredObject | null>(null);
  const save = async (over: ConfiguredObject): Promise<void> => {
    setIsBusy(true);
    setFailure(null);
    try {
      const saved = await api.send<ConfiguredObject>("PUT", path, {
        body: fields,
        ...(over.etag !== null && { headers: { "if-match": over.etag } }),
      });
      await queries.invalidateQueries({ queryKey: ["read"] });
      take(saved);
    } catch (error) {
      if (error instanceof ApiError && error.status === 412)
        try {
          setTheirs(await api.send<ConfiguredObject>("GET", path));
        } catch (later) {
          setFailure(later as Error);
        }
      else setFailure(error as Error);
      setIsBusy(false);
    }
  };
  const words = (before: Fields): readonly string[] => noun.words?.(before, fields) ?? [];
  return (
    <Modal
      title={theirs === null ? `Save ${base.name}` : `${base.name} has changed meanwhile`}
      close={close}
      className="wide"
    >
      {theirs === null ? (
        <ChangeView before={fieldsOf(base)} after={fields} further={words(fieldsOf(base))} />
      ) : (
        <div className="both-sides">
          <section>
            <h3>
              What {theirs.set_by === null ? "somebody else" : `somebody with the role ${theirs.set_by}`} has changed
            </h3>
            <ChangeView before={fieldsOf(base)} after={fieldsOf(theirs)} />
          </section>
          <section>
            <h3>What you would change</h3>
            <ChangeView before={fieldsOf(base)} after={fields} />
          </section>
        </div>
      )}
      {failure !== null && <Problem what="Nothing was saved." error={failure} />}
      <p className="actions">
        {theirs === null ? (
          <button type="button" className="primary" disabled={isBusy} onClick={() => void save(base)}>
            {isBusy ? "Saving…" : "Save"}
          </button>
        ) : (
          <>
            <button
              type="button"
              className="primary"
              onClick={() => {
                rebase(theirs);
                close();
              }}
            >
              Go on with my draft, compared with theirs
            </button>
            <button type="button" onClick={() => take(theirs)}>
              Take theirs
            </button>
            <button type="button" className="danger" disabled={isBusy} onClick={() => void save(theirs)}>
              Save mine over theirs
            </button>
          </>
        )}
        <button type="button" className="quiet" onClick={close}>
          Back to the editor
        </button>
      </p>
    </Modal>
  );
}
