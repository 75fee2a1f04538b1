// What the gateway says of itself: version, licence, addresses and whether it is ready; how it is run, for operators.
import type { Gateway } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { CONSOLE_PATH, gatewayAddress } from "../../console-path.ts";
import { visibleText } from "../../format/visible-text.ts";
import { SettingList } from "./setting-list.tsx";
import { Status } from "../../components/status-mark.tsx";
import { Unread } from "../../components/unread.tsx";
import { Panel } from "../../components/panel.tsx";

const PATH = "/v1/admin/gateway";
const EVERY_MS = 10_000;

export function AboutTab() {
  const { data, error, refetch } = useRead<Gateway>(PATH, { everyMs: EVERY_MS });
  if (data === undefined) return <Unread what="What the gateway says of itself" of={{ data, error, refetch }} />;
  const { run } = data;
  return (
    <div className="call-page">
      <Panel title={`Dragoman ${visibleText(data.version)}`}>
        <SettingList
          settings={[
            { name: "State", value: <Readiness gateway={data} /> },
            { name: "Its clock", value: <TimeText at={data.at} form="day" /> },
            { name: "Address of the API", value: <code>{gatewayAddress()}/api/v1</code> },
            { name: "Address of the MCP server", value: <code>{gatewayAddress()}/mcp</code> },
            {
              name: "Address of the console",
              value: (
                <code>{visibleText(data.console_url === null ? "not served" : `${data.console_url}/console`)}</code>
              ),
            },
            {
              name: "Description of the API",
              value: <a href={`${gatewayAddress()}/api/v1/openapi.json`}>openapi.json</a>,
            },
            {
              name: "Licence",
              value: (
                <>
                  {visibleText(data.license)}.{" "}
                  <a href={`${CONSOLE_PATH}/licences.txt`}>Licences of what this console contains</a>
                </>
              ),
            },
          ]}
        />
      </Panel>
      {run !== null && (
        <Panel title="How it is run">
          <p className="hint">Only operators see this.</p>
          <SettingList
            settings={[
              { name: "Configuration file", value: <code>{visibleText(run.configuration_file ?? "none")}</code> },
              {
                name: "Listens on",
                value: <code>{visibleText(`${run.host}:${run.port}`)}</code>,
                place: "server.host",
              },
              { name: "Processes that serve calls", value: String(run.workers), place: "server.workers" },
              { name: "Database", value: run.database === "sqlite" ? "SQLite" : "PostgreSQL" },
              {
                name: "Limits are counted in",
                value: run.limit_store === "memory" ? "this gateway" : "Valkey",
                place: "limit_store.driver",
              },
            ]}
          />
        </Panel>
      )}
    </div>
  );
}

function Readiness({ gateway: { ready, run } }: { readonly gateway: Gateway }) {
  return (
    <Status tone={ready ? "good" : "bad"}>
      {ready ? "takes calls" : "takes no calls"}
      {run?.not_ready != null && `: ${visibleText(run.not_ready)}`}
    </Status>
  );
}
