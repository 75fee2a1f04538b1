// One configured object: what it is, its editor, what is beside it, and its history.
import { AsCode } from "../components/as-code.tsx";
import { useEffect } from "react";
import { useRead } from "../api/use-api.tsx";
import { Tabs, useTab } from "../components/tabs.tsx";
import { TimeText } from "../components/time-text.tsx";
import { Unread } from "../components/unread.tsx";
import { visibleText } from "../format/visible-text.ts";
import { ScopedLink, useScope } from "../scope/scope-context.tsx";
import { adminPath } from "../scope/scope.ts";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import { NEW_NAME } from "./configured-operations.ts";
import { DraftedEditor } from "./drafted-editor.tsx";
import { VersionList } from "./object-versions.tsx";
import { NewObject, ObjectEditor } from "./object-editor.tsx";
import { ObjectHistory } from "./object-history.tsx";
import type { ConfiguredObject, Noun, ObjectProps } from "./noun.ts";
import { ReadOnlyReason } from "./read-only-reason.tsx";

export function ConfiguredPage({ noun, id }: { readonly noun: Noun; readonly id: string }) {
  return (
    <>
      <p>
        <ScopedLink to={noun.screen}>{noun.many}</ScopedLink>
      </p>
      {id === NEW_NAME ? <NewObject noun={noun} /> : <ExistingObject noun={noun} id={id} />}
    </>
  );
}

function ExistingObject({ noun, id }: { readonly noun: Noun; readonly id: string }) {
  const scope = useScope();
  const path = adminPath(scope, `/${noun.plural}/${encodeURIComponent(id)}`);
  const { data: object, error, refetch } = useRead<ConfiguredObject>(path, { keepsPrevious: false });
  useEffect(() => {
    document.title = `${object?.name ?? id} · ${noun.many} · Dragoman`;
  }, [object, id, noun]);
  const tabs = [
    { name: "edit", label: "Definition" },
    ...(noun.Beside === undefined ? [] : [{ name: "beside", label: "In use" }]),
    ...(noun.Comparison === undefined || object?.["mirror"] === undefined ? [] : [{ name: "mirror", label: "Mirror" }]),
    noun.isVersioned === true ? { name: "versions", label: "Versions" } : { name: "history", label: "History" },
  ];
  const [tab, choose] = useTab(tabs);
  return (
    <>
      <div className="title-row">
        <h1>{visibleText(object?.name ?? id)}</h1>
        {object !== undefined && <OriginBadge object={object} />}
        {object !== undefined && object.updated_at !== null && (
          <small>
            {/* the tab Versions numbers its own */}
            {noun.isVersioned === true ? "changed" : `version ${object.version}, changed`}{" "}
            <TimeText at={object.updated_at} />
          </small>
        )}
        <AsCode path={path} />
      </div>
      {object === undefined && <Unread what={`The ${noun.one}`} lines={8} of={{ data: object, error, refetch }} />}
      {object !== undefined && (
        <>
          <ReadOnlyReason noun={noun} object={object} />
          <Tabs label={`About ${object.name}`} tabs={tabs} chosen={tab} choose={choose}>
            {tab === "edit" && <DefinitionTab noun={noun} object={object} path={path} />}
            {tab === "beside" && noun.Beside !== undefined && <noun.Beside object={object} />}
            {tab === "mirror" && noun.Comparison !== undefined && <noun.Comparison path={path} />}
            {tab === "history" && noun.isVersioned !== true && <ObjectHistory noun={noun} object={object} />}
            {tab === "versions" && noun.isVersioned === true && <VersionList noun={noun} object={object} path={path} />}
          </Tabs>
        </>
      )}
    </>
  );
}

/** Only those who may publish have drafts. */
function DefinitionTab({ noun, object, path }: ObjectProps) {
  const me = useMe();
  const scope = useScope();
  const mayDraft =
    noun.isVersioned === true && object.origin === "store" && may(me, scope, `put*${noun.operation}Draft`);
  return mayDraft ? (
    <DraftedEditor key={object.id} noun={noun} object={object} path={path} />
  ) : (
    <ObjectEditor key={object.id} noun={noun} object={object} path={path} />
  );
}

/** Where an object comes from: the configuration file, or the database with the role that has set it. */
function OriginBadge({ object: { origin, tenant_id, project_id } }: { readonly object: ConfiguredObject }) {
  const of = project_id === null ? (tenant_id === null ? "all tenants" : "the tenant") : "the project";
  return (
    <span className="badge">
      {origin === "file" ? "file" : "database"}, for {of}
    </span>
  );
}
