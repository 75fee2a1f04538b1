// Settings that are only shown: what each is, its value, and where it stands in the configuration file.
import type { ReactNode } from "react";
import { Fact } from "../../components/facts.tsx";

export interface ShownSetting {
  readonly name: string;
  readonly value: ReactNode;
  /** Its place in the configuration file, such as `calls.keep_days`; absent for what is no setting. */
  readonly place?: string;
}

export function SettingList({ settings }: { readonly settings: readonly ShownSetting[] }) {
  return (
    <dl className="pairs settings-list">
      {settings.map(({ name, value, place }) => (
        <Fact key={name} name={name}>
          {value}
          {place !== undefined && (
            <small>
              <code>{place}</code>
            </small>
          )}
        </Fact>
      ))}
    </dl>
  );
}
