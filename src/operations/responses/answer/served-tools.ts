// What a response shows of the tool servers whose tools the gateway runs: a list of each server's tools, and each call
// with its result. https://platform.openai.com/docs/guides/tools-connectors-mcp
import type { ToolsForm } from "../../../engine/answer-form.ts";
import type { SessionServer } from "../../../engine/tools/tool-session.ts";
import { type JsonObject, objectsIn, textOrEmpty } from "../../../core/json.ts";
import type { ReportedActivity } from "../../../core/configured/tool.ts";
import type { AnswerItems } from "./answer-items.ts";
import type { CalledTool } from "./item-parts.ts";

/** Adds the beginning or the end of a call. Calls before the first round were approved by the client. */
export function addActivity(items: AnswerItems, { activity, arguments: text, output }: ReportedActivity): void {
  const { type, call_id: id, server_label: server, tool, round } = activity;
  if (type === "tool_start") items.beginServed({ callId: id, server, name: tool, text }, round);
  else items.endServed(id, output ?? "", type === "tool_error");
}

/** Keeps what stands before the first round of a call. */
export class ToolsBefore implements ToolsForm {
  /** The servers whose tools the request lists already. */
  readonly #known: ReadonlySet<string>;
  #servers: readonly SessionServer[] = [];
  readonly #ran: ReportedActivity[] = [];

  constructor(known: ReadonlySet<string>) {
    this.#known = known;
  }

  listed(servers: readonly SessionServer[]): void {
    this.#servers = servers;
  }

  ran(reported: ReportedActivity): void {
    this.#ran.push(reported);
  }

  addTo(items: AnswerItems): void {
    items.offers(
      new Map(
        this.#servers.flatMap(({ label: server, tools }) =>
          tools.map(({ name, tool }): [string, CalledTool] => [name, { kind: "approval", name: tool, server }]),
        ),
      ),
    );
    for (const { label, tools, failure } of this.#servers)
      if (!this.#known.has(label))
        items.addList(label, tools.map(toolJson), failure === null ? null : "The server did not list its tools.");
    for (const reported of this.#ran) addActivity(items, reported);
  }
}

function toolJson({ definition }: SessionServer["tools"][number]): JsonObject {
  const { name, description, inputSchema, title } = definition;
  return { name, description, input_schema: inputSchema, annotations: title === null ? null : { title } };
}

/** The rows of `x_gateway_mcp.calls`, by the ids of their calls. */
export function servedCalls({ calls }: JsonObject): ReadonlyMap<string, JsonObject> {
  const rows = objectsIn(calls);
  return new Map(rows.map((row) => [textOrEmpty(row["call_id"]), row]));
}
