// Its children for who may explain calls, and for the others what they lack and who can give it.
import type { ReactNode } from "react";
import { useMe } from "../session/session.tsx";

export function NeedsDebug({ children }: { readonly children: ReactNode }) {
  if (useMe().permissions.includes("debug")) return children;
  return (
    <p className="hint">
      Explaining a call needs the permission <code>debug</code>, which your session does not have. The next login has it
      where an admin or owner gives it to the token, or the operator to the roles of the company login or to a login
      link.
    </p>
  );
}
