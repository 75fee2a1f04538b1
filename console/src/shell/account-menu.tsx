// Who is signed in, the choices of this browser, and signing out.
import { useState } from "react";
import { Menu } from "../components/controls/menu.tsx";
import { Problem } from "../components/problem.tsx";
import { useMe, useSignOut } from "../session/session.tsx";
import { PreferenceFields } from "./preference-fields.tsx";

export function AccountMenu({ showShortcuts }: { readonly showShortcuts: () => void }) {
  const { user, token } = useMe();
  const signOut = useSignOut();
  const [failure, setFailure] = useState<Error | null>(null);
  const leave = (): void => {
    setFailure(null);
    signOut().catch((thrown: unknown) => setFailure(thrown as Error));
  };
  const name = user?.name ?? token?.name ?? "session";
  return (
    <Menu
      side="end"
      className="account-button"
      name={`Account of ${name}`}
      label={<span className="initial">{name.slice(0, 1).toUpperCase()}</span>}
    >
      {(close) => (
        <div className="account">
          <p>
            <strong>{name}</strong>
            {user !== null && user.id !== name && <small> {user.id}</small>}
          </p>
          <PreferenceFields name="account" />
          <div className="account-actions">
            <button
              type="button"
              className="quiet"
              onClick={() => {
                close();
                showShortcuts();
              }}
            >
              Shortcuts
            </button>
            <button type="button" className="quiet" onClick={leave}>
              Sign out
            </button>
          </div>
          {failure !== null && <Problem what="You are still signed in." error={failure} />}
        </div>
      )}
    </Menu>
  );
}
