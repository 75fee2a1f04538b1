// The history of a configured object. One of the configuration file has none here.
import { Empty } from "../components/empty.tsx";
import type { ConfiguredObject, Noun } from "./noun.ts";
import { TargetHistory } from "./target-history.tsx";

export function ObjectHistory({ noun, object }: { readonly noun: Noun; readonly object: ConfiguredObject }) {
  if (object.origin === "file")
    return (
      <Empty title="The history is with the file">
        <p>The gateway reads the configuration file and keeps no versions of it.</p>
      </Empty>
    );
  return <TargetHistory targetId={object.id} what={noun.one} />;
}
