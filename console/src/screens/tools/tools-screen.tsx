// `/tools`: the tool servers of the scope.
import { ConfiguredList } from "../../configured/configured-list.tsx";
import { TOOL_SERVER_NOUN } from "./tool-server-noun.tsx";

export function ToolsScreen() {
  return <ConfiguredList noun={TOOL_SERVER_NOUN} />;
}
