// The link to the page that makes a new object, which the key `c` opens too.
import { useMemo } from "react";
import { useLocation } from "wouter";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { pathIn } from "../../scope/scope.ts";
import { NEW_NAME } from "../../configured/configured-operations.ts";

interface CreateLinkProps {
  /** The path of the screen, such as `/tools`. */
  readonly screen: string;
  readonly label: string;
}

export function CreateLink({ screen, label }: CreateLinkProps) {
  const scope = useScope();
  const [, navigate] = useLocation();
  const path = `${screen}/${NEW_NAME}`;
  const bindings = useMemo<readonly Binding[]>(
    () => [{ keys: "c", label, run: () => navigate(pathIn(scope, path)) }],
    [label, navigate, scope, path],
  );
  useKeys(bindings);
  return (
    <ScopedLink className="button primary" to={path}>
      {label}
    </ScopedLink>
  );
}
