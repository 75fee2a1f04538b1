// The definition or the history of a configured object, as a part of a page that shows more about it.
import type { ReactNode } from "react";
import { useRead } from "../api/use-api.tsx";
import { useScope } from "../scope/scope-context.tsx";
import { adminPath } from "../scope/scope.ts";
import type { ConfiguredObject, Noun } from "./noun.ts";
import { ObjectEditor } from "./object-editor.tsx";
import { ObjectHistory } from "./object-history.tsx";
import { ReadOnlyReason } from "./read-only-reason.tsx";
import { Unread } from "../components/unread.tsx";

interface ObjectTabProps {
  readonly noun: Noun;
  /** Or its name. */
  readonly id: string;
  readonly tab: "edit" | "history";
  /** Shown where there is no such object. */
  readonly missing?: ReactNode;
}

export function ObjectTab({ noun, id, tab, missing }: ObjectTabProps) {
  const scope = useScope();
  const path = adminPath(scope, `/${noun.plural}/${encodeURIComponent(id)}`);
  const { data: object, error, refetch } = useRead<ConfiguredObject>(path, { keepsPrevious: false });
  if (error?.status === 404 && missing !== undefined) return missing;
  if (object === undefined) return <Unread what={`The ${noun.one}`} lines={8} of={{ data: object, error, refetch }} />;
  return (
    <>
      <ReadOnlyReason noun={noun} object={object} />
      {tab === "edit" ? (
        <ObjectEditor key={object.id} noun={noun} object={object} path={path} />
      ) : (
        <ObjectHistory noun={noun} object={object} />
      )}
    </>
  );
}
