// `dragoman models --project`: what can be called in a project of a running gateway, with prices and context.
import type { Environment } from "../../config/environment.ts";
import { isObject } from "../../core/json.ts";
import { type GatewayFlags, openAdminClient } from "./client.ts";
import { printJson } from "../output.ts";
import { printThings, rowsOf } from "../things.ts";

interface ProjectModelsFlags extends GatewayFlags {
  readonly project: string;
}

/** Its headings, which say what the prices are for. */
const COLUMNS = {
  MODEL: "id",
  NAME: "name",
  "USD A TOKEN IN": "pricing.prompt",
  "USD A TOKEN OUT": "pricing.completion",
  CONTEXT: "context_length",
} as const;

export async function projectModels(flags: ProjectModelsFlags, environment: Environment): Promise<void> {
  const answer = await openAdminClient(flags, environment, "/api/v1").send("GET", "/models", {
    headers: { "x-gateway-project-id": flags.project },
  });
  const models = rowsOf(isObject(answer) ? answer["data"] : undefined);
  if (flags.json === true) return printJson(models);
  printThings(COLUMNS, models);
}
