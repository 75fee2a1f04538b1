// Shows what would change, and saves it. Where somebody else has changed the object meanwhile, both changes are shown, and nothing is overwritten
// unless the reader wants that.
import { mergePatch, type Fields } from "./merge-patch.ts";
import { AsCode } from "../components/as-code.tsx";
import { useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useEffect, useState } from "react";
import { ApiError } from "../api/api.ts";
import type { RouteSimulation } from "../api/types.ts";
import { useApi } from "../api/use-api.tsx";
import { Labelled } from "../components/controls/labelled.tsx";
import { Modal } from "../components/modal.tsx";
import { Problem } from "../components/problem.tsx";
import { visibleText } from "../format/visible-text.ts";
import { ChangeView } from "./change-view.tsx";
import { type ConfiguredObject, fieldsOf, type Noun } from "./noun.ts";

interface SaveDialogProps {
  readonly noun: Noun;
  readonly base: ConfiguredObject;
  readonly fields: Fields;
  /** The fields as they are shown: with a mask for each secret that was typed. */
  readonly shown: Fields;
  readonly path: string;
  /** What of the object's own tests does not hold with the change. */
  readonly failedTests: readonly string[];
  readonly close: () => void;
  /** Another version is what the draft is compared with from now on. */
  readonly rebase: (current: ConfiguredObject) => void;
  /** The editor shows this version, and has no draft any more. */
  readonly take: (saved: ConfiguredObject, isOwn: boolean) => void;
}

export function SaveDialog({ noun, base, fields, shown, path, failedTests, close, rebase, take }: SaveDialogProps) {
  const api = useApi();
  const queries = useQueryClient();
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const [theirs, setTheirs] = useState<ConfiguredObject | null>(null);
  const [note, setNote] = useState("");
  const [reason, setReason] = useState("");
  const isPublished = noun.isVersioned === true;
  const needsReason = failedTests.length > 0;
  const save = async (over: ConfiguredObject): Promise<void> => {
    setIsBusy(true);
    setFailure(null);
    try {
      const saved = await api.send<ConfiguredObject>("PUT", path + remarks(note, needsReason ? reason : ""), {
        body: fields,
        ...(over.etag !== null && { headers: { "if-match": over.etag } }),
      });
      await queries.invalidateQueries({ queryKey: ["read"] });
      take(saved, true);
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
  const sentences = useSimulated(noun.plural === "routes" ? path : null, fields);
  const isReady = !isBusy && (!needsReason || reason.trim() !== "");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (theirs === null && isReady) void save(base);
  };
  const words = (before: Fields): readonly string[] => noun.words?.(before, shown) ?? [];
  return (
    <Modal
      title={
        theirs === null ? `${isPublished ? "Publish" : "Save"} ${base.name}` : `${base.name} has changed meanwhile`
      }
      close={close}
      className="wide"
    >
      <form className="save-form" onSubmit={submit}>
        {theirs === null ? (
          <ChangeView before={fieldsOf(base)} after={shown} further={[...words(fieldsOf(base)), ...sentences]} />
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
              <ChangeView before={fieldsOf(base)} after={shown} />
            </section>
          </div>
        )}
        {theirs === null && isPublished && (
          <TextInput label="Why, for the list of versions" text={note} change={setNote} />
        )}
        {needsReason && (
          <div className="problem">
            <p>
              <strong>Tests do not hold.</strong> An owner can publish it nevertheless, with a reason that the audit log
              keeps.
            </p>
            <ul className="change-words">
              {failedTests.map((fault) => (
                <li key={fault}>{visibleText(fault)}</li>
              ))}
            </ul>
            <TextInput label="Reason" text={reason} change={setReason} />
          </div>
        )}
        {failure !== null && (
          <Problem what={isPublished ? "Nothing was published." : "Nothing was saved."} error={failure} />
        )}
        <p className="actions">
          {theirs === null ? (
            <button type="submit" className="primary" disabled={!isReady}>
              {isBusy ? "Saving…" : isPublished ? "Publish" : "Save"}
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
              <button type="button" onClick={() => take(theirs, false)}>
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
          <AsCode
            method="PATCH"
            path={path + remarks(note, needsReason ? reason : "")}
            body={mergePatch(fieldsOf(base), shown)}
          />
        </p>
      </form>
    </Modal>
  );
}

/** What a simulation says of the change; nothing where there is none, or while it is made. */
function useSimulated(path: string | null, fields: Fields): readonly string[] {
  const api = useApi();
  const [sentences, setSentences] = useState<readonly string[]>([]);
  const body = JSON.stringify({ route: fields });
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    api
      .send<RouteSimulation>("POST", `${path}/simulate`, { body: JSON.parse(body) as object, signal: stop.signal })
      .then(
        ({ difference }) => setSentences(difference?.sentences ?? []),
        () => setSentences([]),
      );
    return () => stop.abort();
  }, [api, path, body]);
  return sentences;
}

interface TextInputProps {
  readonly label: string;
  readonly text: string;
  readonly change: (text: string) => void;
}

function TextInput({ label, text, change }: TextInputProps) {
  return (
    <Labelled label={label}>
      {(id) => <input id={id} value={text} maxLength={500} onChange={({ target: { value } }) => change(value)} />}
    </Labelled>
  );
}

function remarks(note: string, reason: string): string {
  const query = new URLSearchParams({
    ...(note.trim() !== "" && { note: note.trim() }),
    ...(reason.trim() !== "" && { override_tests: reason.trim() }),
  }).toString();
  return query === "" ? "" : `?${query}`;
}
