// The editor of a configured object: a form and the same thing as YAML, checked by the gateway while one types, and saved with a look at the change.
import { AsCode } from "../components/as-code.tsx";
import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { useLocation } from "wouter";
import { useWrite } from "../api/use-write.ts";
import { useClock } from "../clock.ts";
import { CodeEditor } from "../components/code-editor.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { Empty } from "../components/empty.tsx";
import { Problem } from "../components/problem.tsx";
import { isTyping } from "../keyboard/keys.tsx";
import { useScope } from "../scope/scope-context.tsx";
import { adminPath, pathIn } from "../scope/scope.ts";
import { may } from "../session/me.ts";
import { useUrlState } from "../url-state.ts";
import { useMe } from "../session/session.tsx";
import { ChangeView } from "./change-view.tsx";
import { operationOf } from "./configured-operations.ts";
import { DeleteObject } from "./delete-object.tsx";
import { fileText, readYaml, writtenYaml, type YamlText } from "./yaml-text.ts";
import type { Fields } from "./merge-patch.ts";
import { type ConfiguredObject, fieldsOf, filePlace, type Noun, type ObjectProps } from "./noun.ts";
import { SaveDialog } from "./save-dialog.tsx";
import { useCheck } from "./use-check.ts";
import { PublishedStrip, SHOWN_MS } from "./published-strip.tsx";
import { type DraftState, useSavedDraft } from "./use-draft.ts";

/** `object` is the state that the draft begins with. */
interface ObjectEditorProps extends ObjectProps {
  /** What is stored now, where it is another one. */
  readonly stored?: ConfiguredObject;
  /** The saved draft of the person who is logged in: null when there is none, undefined for objects without drafts. */
  readonly draft?: string | null;
  /** How many versions others have published since that draft was begun. */
  readonly since?: number;
}

export function ObjectEditor({ noun, object, stored = object, path, draft, since = 0 }: ObjectEditorProps) {
  const scope = useScope();
  const clock = useClock();
  const me = useMe();
  const state = useUrlState();
  /** The stored state on which the draft is based. Its version is sent with the change, so that a change made meanwhile is a conflict. */
  const [base, setBase] = useState(object);
  const [yaml, setYaml] = useState(() => (draft == null ? writtenYaml(fieldsOf(object)) : { text: draft }));
  const [isSaving, setIsSaving] = useState(false);
  const isFile = object.origin === "file";
  const mayReplace = !isFile && may(me, scope, operationOf("replace", noun));
  const isChanged = yaml.text !== writtenYaml(fieldsOf(base)).text;
  // where nothing was typed, what was published meanwhile is shown at once
  if (!isChanged && stored.version > base.version) {
    setBase(stored);
    setYaml(writtenYaml(fieldsOf(stored)));
  }
  /** Without the secrets that were typed. */
  const shown = readYaml({ text: yaml.text }).fields;
  const check = useCheck(yaml, isChanged && mayReplace ? { method: "PUT", path } : null);
  const { fields, problems, isValid, failedTests } = check;
  const isReady = isChanged && fields !== null && (isValid || failedTests.length > 0);
  const keeps = draft !== undefined;
  const kept = useSavedDraft(keeps ? path : null, isChanged ? yaml.text : null, base.etag, draft ?? null);
  const discard = (): void => setYaml(writtenYaml(fieldsOf(base)));
  const publishedMs = Number(state.get("published") ?? Number.NaN);
  return (
    <>
      {Math.abs(publishedMs - clock()) <= SHOWN_MS && noun.isVersioned === true && (
        <PublishedStrip
          path={path}
          route={noun.plural === "routes" ? object.name : null}
          atMs={publishedMs}
          close={() => state.set({ published: null }, { replace: true })}
        />
      )}
      {isChanged && since > 0 && (
        <p className="banner">
          Somebody else has published {since === 1 ? "a change" : `${since} changes`} since you began this draft.
          Publishing shows both sides first.
        </p>
      )}
      <EditorPanes
        noun={noun}
        yaml={yaml}
        setYaml={setYaml}
        problems={problems}
        isReadOnly={!mayReplace && !isFile}
        goOn={() => setIsSaving(mayReplace && isReady)}
        simulated={{ path, isChanged }}
      />
      <p className="actions">
        {mayReplace && (
          <button type="button" className="primary" disabled={!isReady} onClick={() => setIsSaving(true)}>
            {noun.isVersioned === true ? "Look at the change and publish" : "Look at the change and save"}
          </button>
        )}
        {isChanged && (
          <button type="button" onClick={discard}>
            Discard the draft
          </button>
        )}
        {isFile && <CopyButton label="Copy for the file" text={fileText(filePlace(noun, object), yaml.text)} />}
        {!isFile && base.version > 0 && may(me, scope, operationOf("delete", noun)) && (
          <DeleteObject noun={noun} object={base} path={path} />
        )}
        {keeps && <small role="status">{isChanged ? DRAFT_WORDS[kept] : ""}</small>}
      </p>
      {isFile && isChanged && shown !== null && <ChangeView before={fieldsOf(base)} after={shown} text={yaml.text} />}
      {isSaving && fields !== null && shown !== null && (
        <SaveDialog
          noun={noun}
          base={base}
          fields={fields}
          shown={shown}
          path={path}
          failedTests={failedTests}
          close={() => setIsSaving(false)}
          rebase={(current) => setBase(current)}
          take={(saved, isOwn) => {
            setBase(saved);
            setYaml(writtenYaml(fieldsOf(saved)));
            setIsSaving(false);
            if (isOwn && noun.isVersioned === true) state.set({ published: String(clock()) }, { replace: true });
          }}
        />
      )}
    </>
  );
}

const DRAFT_WORDS: Readonly<Record<DraftState, string>> = {
  none: "",
  saving: "Your draft is being kept.",
  saved: "Your draft is kept. Only you can see it.",
  unsaved: "Your draft could not be kept. It is in this page only.",
};

interface PanesProps {
  readonly noun: Noun;
  readonly yaml: YamlText;
  readonly setYaml: (yaml: YamlText) => void;
  readonly problems: Parameters<typeof CodeEditor>[0]["problems"] & object;
  readonly isReadOnly: boolean;
  /** What Enter in a field of the form does. */
  readonly goOn?: () => void;
  /** Of an object that is there. */
  readonly simulated?: { readonly path: string; readonly isChanged: boolean };
}

function EditorPanes({ noun, yaml, setYaml, problems, isReadOnly, goOn, simulated }: PanesProps) {
  const { fields } = readYaml(yaml);
  const { Simulation } = noun;
  const edit = (change: (text: YamlText) => YamlText): void => setYaml(change(yaml));
  const press = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    if (!(event.target instanceof HTMLInputElement) || !isTyping(event.target)) return;
    event.preventDefault();
    goOn?.();
  };
  const panes = (
    <div className="editor-panes">
      <section className="panel" aria-label="Form">
        <h2>Form</h2>
        {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- the fields in it take the key */}
        <div className="panel-body" onKeyDown={press}>
          {fields === null ? (
            <p className="hint">The form is back when the text beside it can be read.</p>
          ) : (
            <noun.Form fields={fields} edit={edit} isReadOnly={isReadOnly} />
          )}
        </div>
      </section>
      <section className="panel" aria-label="YAML">
        <h2>
          YAML <small>all fields, as in the configuration file</small>
        </h2>
        <div className="panel-body">
          <CodeEditor
            label={`The ${noun.one} as YAML`}
            text={yaml.text}
            change={(text) => setYaml({ ...yaml, text })}
            problems={problems}
            isReadOnly={isReadOnly}
          />
        </div>
      </section>
    </div>
  );
  if (Simulation === undefined || simulated === undefined) return panes;
  return (
    <div className="editor-beside">
      {panes}
      {fields !== null && <Simulation fields={fields} edit={edit} isReadOnly={isReadOnly} {...simulated} />}
    </div>
  );
}

/** `choice` stands below the heading. */
export function NewObject({ noun, choice }: { readonly noun: Noun; readonly choice?: ReactNode }) {
  const scope = useScope();
  const me = useMe();
  const { send, isBusy, failure } = useWrite();
  const id = useId();
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [yaml, setYaml] = useState<YamlText>({ text: noun.template });
  const path = adminPath(scope, `/${noun.plural}`);
  const mayCreate = may(me, scope, operationOf("create", noun));
  const { fields, problems, isValid } = useCheck(
    yaml,
    mayCreate && name !== "" ? { method: "POST", path, name } : null,
  );
  const shown = readYaml({ text: yaml.text }).fields;
  const create = async (written: Fields): Promise<void> => {
    const made = await send<ConfiguredObject>("POST", path, { name, ...written });
    if (made !== undefined) navigate(pathIn(scope, `${noun.screen}/${encodeURIComponent(made.id)}`));
  };
  if (!mayCreate)
    return (
      <Empty title={`You may not create a ${noun.one} here`}>
        <p>Someone with a higher role in this tenant or project can do it, or give you that role.</p>
      </Empty>
    );
  return (
    <>
      <h1>New {noun.one}</h1>
      {choice}
      <p className="hint">{noun.purpose}</p>
      <div className="field new-name">
        <label htmlFor={id}>Name</label>
        <input
          id={id}
          value={name}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setName(event.target.value)}
        />
      </div>
      <EditorPanes noun={noun} yaml={yaml} setYaml={setYaml} problems={problems} isReadOnly={false} />
      {failure !== null && <Problem what={`The ${noun.one} was not created.`} error={failure} />}
      <p className="actions">
        <button
          type="button"
          className="primary"
          disabled={isBusy || name === "" || fields === null || !isValid}
          onClick={() => void create(fields!)}
        >
          Create the {noun.one}
        </button>
        {name !== "" && shown !== null && <AsCode method="POST" path={path} body={{ name, ...shown }} />}
      </p>
    </>
  );
}
