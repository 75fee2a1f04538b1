// What this browser shows and how, and how the gateway serves the console.
import type { Gateway } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Unread } from "../../components/unread.tsx";
import { duration } from "../../format/time.ts";
import { PreferenceFields } from "../../shell/preference-fields.tsx";
import { SettingList } from "./setting-list.tsx";
import { Panel } from "../../components/panel.tsx";

const PATH = "/v1/admin/gateway";

export function ConsoleTab() {
  const { data, error, refetch } = useRead<Gateway>(PATH);
  return (
    <div className="call-page">
      <section className="panel">
        <h2>In this browser</h2>
        <div className="panel-body account">
          <PreferenceFields name="settings" />
        </div>
      </section>
      <Unread what="The settings of the console" of={{ data, error, refetch }} />
      {data !== undefined && <Served gateway={data} />}
    </div>
  );
}

function Served({ gateway: { console: served } }: { readonly gateway: Gateway }) {
  const yesNo = (is: boolean): string => (is ? "yes" : "no");
  const text = [
    "console:",
    `  session_idle_s: ${served.session_idle_s}`,
    `  session_max_s: ${served.session_max_s}`,
    `  project_tokens: ${String(served.project_tokens)}`,
    `  insecure_http: ${String(served.insecure_http)}`,
    "",
  ].join("\n");
  return (
    <Panel title="For everybody">
      <p className="hint">These hold for the whole gateway, and are changed in the configuration file.</p>
      <SettingList
        settings={[
          {
            name: "A session ends unused after",
            value: hours(served.session_idle_s),
            place: "console.session_idle_s",
          },
          {
            name: "A session ends at the latest after",
            value: hours(served.session_max_s),
            place: "console.session_max_s",
          },
          { name: "Project tokens open it", value: yesNo(served.project_tokens), place: "console.project_tokens" },
          { name: "Over http from elsewhere", value: yesNo(served.insecure_http), place: "console.insecure_http" },
        ]}
      />
      <p className="actions">
        <CopyButton label="Copy for the file" text={text} />
      </p>
    </Panel>
  );
}

const HOUR_S = 3600;
const DAY_H = 24;

function hours(seconds: number): string {
  if (seconds % HOUR_S !== 0) return duration(seconds * 1000);
  const count = seconds / HOUR_S;
  if (count % DAY_H === 0) return count === DAY_H ? "1 day" : `${count / DAY_H} days`;
  return count === 1 ? "1 hour" : `${count} hours`;
}
