// The editor of an object that has drafts: it begins with the reader's own draft, where there is one. Where somebody else has published since, the
// state that the draft began with is read, so that both changes can be shown.
import { useState } from "react";
import { useRead } from "../api/use-api.tsx";
import type { Draft, ObjectVersions } from "../api/types.ts";
import { Pending } from "../components/pending.tsx";
import { Problem } from "../components/problem.tsx";
import type { Fields } from "./merge-patch.ts";
import type { ConfiguredObject, ObjectProps } from "./noun.ts";
import { ObjectEditor } from "./object-editor.tsx";
import { publishedSince } from "./use-draft.ts";

export function DraftedEditor({ noun, object, path }: ObjectProps) {
  const { data: draft, error, isFetching, refetch } = useRead<Draft>(`${path}/draft`, { keepsPrevious: false });
  const since = draft === undefined || draft.text === null ? 0 : publishedSince(draft);
  const versions = useRead<ObjectVersions>(since > 0 ? `${path}/versions` : null, { keepsPrevious: false });
  // what an earlier visit has read may be an older draft
  const isRead =
    draft !== undefined &&
    error === null &&
    !isFetching &&
    (since === 0 || !(versions.isPending || versions.isFetching));
  const before = versions.data?.data[since - 1]?.change.before as Fields | null | undefined;
  const [first, setFirst] = useState<FirstState | null>(null);
  // the editor keeps what it began with, whatever is read again later
  if (first === null && isRead) {
    const base = since === 0 || before == null ? object : baseOf(object, before, draft.base_etag);
    setFirst({ base, text: draft.text, since });
  }
  if (first !== null)
    return (
      <ObjectEditor
        noun={noun}
        object={first.base}
        stored={object}
        path={path}
        draft={first.text}
        since={first.since}
      />
    );
  if (error !== null)
    return <Problem what="Your draft could not be read." error={error} retry={() => void refetch()} />;
  return <Pending what="Your draft" lines={8} />;
}

interface FirstState {
  readonly base: ConfiguredObject;
  readonly text: string | null;
  readonly since: number;
}

/** The object as it was when the draft was begun. */
function baseOf(object: ConfiguredObject, fields: Fields, etag: string | null): ConfiguredObject {
  const { id, name, tenant_id, project_id, origin, set_by, version, created_at, updated_at } = object;
  return { ...fields, id, name, tenant_id, project_id, origin, set_by, version, created_at, updated_at, etag };
}
