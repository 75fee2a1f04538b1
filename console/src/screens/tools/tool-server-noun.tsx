// What the console knows of tool servers.
import type { Noun } from "../../configured/noun.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ServerTools } from "./server-tools.tsx";
import { ToolServerForm } from "./tool-server-form.tsx";

export const TOOL_SERVER_NOUN: Noun = {
  plural: "tool_servers",
  screen: "/tools",
  one: "tool server",
  many: "Tool servers",
  command: "tool-server",
  operation: "ToolServer",
  template: "require_approval: always\n",
  purpose: "A tool server (MCP) offers tools that the gateway runs for a model, as far as a request names the server.",
  columns: [
    {
      head: "Address",
      render: ({ url, command }) => (
        <span className="cut">
          {visibleText(typeof url === "string" ? url : typeof command === "string" ? command : "")}
        </span>
      ),
    },
    { head: "Approval", render: ({ require_approval: approval }) => (approval === "never" ? "not asked" : "asked") },
    { head: "State", render: ({ enabled }) => (enabled === false ? "disabled" : "enabled") },
  ],
  Form: ToolServerForm,
  Beside: ServerTools,
};
