// Who is signed in, and what this browser shows and how: theme, time zone, single letters; signing out.
import { Menu } from "../components/menu.tsx";
import { zoneName } from "../format/time.ts";
import { type Preferences } from "../preferences.ts";
import { usePreferences } from "../preferences-context.tsx";
import { useMe, useSignOut } from "../session/session.tsx";

const THEMES: Readonly<Record<Preferences["theme"], string>> = {
  system: "As the system",
  light: "Light",
  dark: "Dark",
};

export function AccountMenu({ showShortcuts }: { readonly showShortcuts: () => void }) {
  const { user, token } = useMe();
  const signOut = useSignOut();
  const { preferences, choose } = usePreferences();
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
          <fieldset>
            <legend>Theme</legend>
            {Object.entries(THEMES).map(([theme, label]) => (
              <label key={theme}>
                <input
                  type="radio"
                  name="theme"
                  checked={preferences.theme === theme}
                  onChange={() => choose({ theme: theme as Preferences["theme"] })}
                />
                {label}
              </label>
            ))}
          </fieldset>
          <fieldset>
            <legend>Times</legend>
            <label>
              <input
                type="radio"
                name="zone"
                checked={preferences.zone === "local"}
                onChange={() => choose({ zone: "local" })}
              />
              {zoneName("local")}
            </label>
            <label>
              <input
                type="radio"
                name="zone"
                checked={preferences.zone === "utc"}
                onChange={() => choose({ zone: "utc" })}
              />
              UTC
            </label>
          </fieldset>
          <label>
            <input
              type="checkbox"
              checked={preferences.letters}
              onChange={(event) => choose({ letters: event.target.checked })}
            />
            Single letters are commands
          </label>
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
            <button type="button" className="quiet" onClick={() => void signOut()}>
              Sign out
            </button>
          </div>
        </div>
      )}
    </Menu>
  );
}
