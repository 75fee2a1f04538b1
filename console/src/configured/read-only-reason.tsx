// Why a configured object cannot be changed here; nothing where it can.
import { useScope } from "../scope/scope-context.tsx";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import { operationOf } from "./configured-operations.ts";
import { type ConfiguredObject, filePlace, type Noun } from "./noun.ts";

export function ReadOnlyReason({ noun, object }: { readonly noun: Noun; readonly object: ConfiguredObject }) {
  const me = useMe();
  const scope = useScope();
  const command = `dragoman ${noun.command} get ${object.name}`;
  if (object.origin === "file")
    return (
      <p className="banner">
        This {noun.one} is in the configuration file, at <code>{filePlace(noun, object).join(".")}</code>, and is
        changed there. What you change here is a draft that you can copy for the file.
      </p>
    );
  if (!may(me, scope, operationOf("replace", noun)))
    return (
      <p className="banner">
        Your role here does not allow changing a {noun.one}. Someone with a higher role can do it, or give you that
        role. To read it on the command line: <code>{command}</code>
      </p>
    );
  return null;
}
