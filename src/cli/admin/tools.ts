// `dragoman tools ...`: the tools of registered tool servers, called by the running gateway.
import { counted } from "../../core/text/counted.ts";
import type { Environment } from "../../config/environment.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { printError, printJson, printLine, printTable } from "../output.ts";
import { type GatewayFlags, openAdminClient } from "./client.ts";
import { type InputFlags, readInput } from "./input.ts";
import { pathOf, type PlaceFlags } from "./run.ts";
import { cell, rowsOf } from "../things.ts";

type ToolFlags = GatewayFlags & PlaceFlags;

/** The gateway's own time limit for a tool, with a margin for the request itself. */
const TIMEOUT_MS = 250_000;
const MAX_TEXT_CHARACTERS = 100;

export async function list(server: string, flags: ToolFlags, environment: Environment): Promise<void> {
  const answer = await toolAnswer(server, flags, environment, "GET", "tools");
  if (flags.json === true) return printJson(answer["data"]);
  const tools = rowsOf(answer["data"]);
  printTable(
    ["NAME", "ARGUMENTS", "DESCRIPTION"],
    tools.map((tool) => [cell(tool, "name"), argumentsOf(tool["input_schema"]), firstLine(tool["description"])]),
  );
}

/** Returns 1 when the server cannot be reached. */
export async function test(server: string, flags: ToolFlags, environment: Environment): Promise<number> {
  const answer = await toolAnswer(server, flags, environment, "POST", "test");
  if (flags.json === true) printJson(answer);
  else if (answer["ok"] === true)
    printLine(
      `${server} answers over ${cell(answer, "transport")} as ${cell(answer, "server_name")} ${cell(answer, "server_version")}, protocol ${cell(answer, "protocol_version")}: connected in ${cell(answer, "connect_ms")} ms, ${cell(answer, "tools")} tools listed in ${cell(answer, "list_ms")} ms.`,
    );
  else printFault(answer);
  return answer["ok"] === true ? 0 : 1;
}

/** Returns 1 when there is no result, or the tool reports a failure. */
export async function call(
  server: string,
  tool: string,
  flags: ToolFlags & InputFlags,
  environment: Environment,
): Promise<number> {
  const body = { tool, arguments: await readInput(flags) };
  const answer = await toolAnswer(server, flags, environment, "POST", "call", { body });
  if (flags.json === true) printJson(answer);
  else if (answer["ok"] !== true) printFault(answer);
  else {
    for (const block of rowsOf(answer["content"]))
      printLine(
        block["type"] === "text"
          ? cell(block, "text")
          : `[image of type ${cell(block, "media_type")}, ${counted(cell(block, "data").length, "character")} of base64; --json prints it]`,
      );
    if (answer["structured"] !== null) printJson(answer["structured"]);
  }
  return answer["ok"] === true && answer["is_error"] !== true ? 0 : 1;
}

async function toolAnswer(
  server: string,
  flags: ToolFlags,
  environment: Environment,
  method: "GET" | "POST",
  below: string,
  sent: { readonly body?: JsonObject } = {},
): Promise<JsonObject> {
  const path = `${pathOf("tool_servers", server, flags)}/${below}`;
  const answer = await openAdminClient(flags, environment).send(method, path, { ...sent, timeoutMs: TIMEOUT_MS });
  return isObject(answer) ? answer : {};
}

function printFault(answer: JsonObject): void {
  printError(`${cell(answer, "error.message")} (${cell(answer, "error.code")})`);
  const detail = cell(answer, "error.detail");
  if (detail !== "-") printError(detail);
}

function argumentsOf(schema: Json | undefined): string {
  if (!isObject(schema) || !isObject(schema["properties"])) return "-";
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return (
    Object.keys(schema["properties"])
      .map((name) => (required.includes(name) ? name : `[${name}]`))
      .join(" ") || "-"
  );
}

function firstLine(text: Json | undefined): string {
  return typeof text === "string" ? text.split("\n")[0]!.slice(0, MAX_TEXT_CHARACTERS) : "-";
}
