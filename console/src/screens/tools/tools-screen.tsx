// `/tools`: the tool servers of the scope, and where clients find their tools.
import { ConfiguredList } from "../../configured/configured-list.tsx";
import { gatewayAddress } from "../../console-path.ts";
import { TOOL_SERVER_NOUN } from "./tool-server-noun.tsx";

export function ToolsScreen() {
  return (
    <>
      <ConfiguredList noun={TOOL_SERVER_NOUN} />
      <p className="hint">
        Clients such as Claude Code and Codex find the tools of a project at <code>{gatewayAddress()}/mcp</code>, with
        an access token of the project.
      </p>
    </>
  );
}
