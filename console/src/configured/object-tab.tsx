// The definition or the history of a configured object, as a part of a page that shows more about it.
import type { ReactNode } from "react";
import { useRead } from "../api/use-api.tsx";
import { Pending } from "../components/pending.tsx";
import { Problem } from "../components/problem.tsx";
import { useScope } from "../scope/scope-context.tsx";
import { adminPath } from "../scope/scope.ts";
import type { ConfiguredObject, Noun } from "./noun.ts";
import { ObjectEditor } from "./object-editor.tsx";
import { ObjectHistory } from "./object-history.tsx";
import { ReadOnlyReason } from "./read-only-reason.tsx";

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
  if (error !== null && object === undefined)
    return <Problem what={`The ${noun.one} could not be read.`} error={error} retry={() => void refetch()} />;
  if (object === undefined) return <Pending what={`The ${noun.one}`} lines={8} />;
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
