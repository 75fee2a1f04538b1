// The choices of this browser: theme, time zone, and whether single letters are commands.
import { ownZone, UTC } from "../format/time.ts";
import type { Preferences } from "../preferences.ts";
import { usePreferences } from "../preferences-context.tsx";
import { useScope } from "../scope/scope-context.tsx";
import { titleOf } from "../scope/scope.ts";
import { tenantZone } from "../session/me.ts";
import { useMe } from "../session/session.tsx";

const THEMES: readonly (readonly [Preferences["theme"], string])[] = [
  ["system", "As the system"],
  ["light", "Light"],
  ["dark", "Dark"],
];

/** `name` keeps the fields of two places of a page apart. */
export function PreferenceFields({ name }: { readonly name: string }) {
  const me = useMe();
  const scope = useScope();
  const { preferences, choose } = usePreferences();
  const reports = tenantZone(me, scope);
  const zones: readonly (readonly [Preferences["zone"], string])[] = [
    ["local", `${ownZone()}, of this browser`],
    ["utc", UTC],
    ...(reports !== UTC || preferences.zone === "tenant"
      ? [["tenant", `${reports}, of the reports of ${titleOf({ ...scope, project: null })}`] as const]
      : []),
  ];
  return (
    <>
      <fieldset>
        <legend>Theme</legend>
        {THEMES.map(([theme, label]) => (
          <label key={theme}>
            <input
              type="radio"
              name={`${name}-theme`}
              checked={preferences.theme === theme}
              onChange={() => choose({ theme })}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <fieldset>
        <legend>Times</legend>
        {zones.map(([zone, label]) => (
          <label key={zone}>
            <input
              type="radio"
              name={`${name}-zone`}
              checked={preferences.zone === zone}
              onChange={() => choose({ zone })}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <label>
        <input
          type="checkbox"
          checked={preferences.letters}
          onChange={(event) => choose({ letters: event.target.checked })}
        />
        Single letters are commands
      </label>
    </>
  );
}
