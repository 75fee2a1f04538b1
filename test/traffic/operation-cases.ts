// The recorded exchanges of operations other than chat completions, where they exist: DRAGOMAN_TRAFFIC_OPERATIONS or
// ../shared/traffic-operations beside the project. None of it is copied here.
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { JsonObject } from "../../src/core/json.ts";

interface OperationEntry {
  readonly id: string;
  readonly file: string;
  readonly operation: "responses" | "embeddings" | "completions" | "count-tokens" | "rerank";
  readonly provider: string;
}

export interface OperationCase {
  readonly id: string;
  readonly operation: OperationEntry["operation"];
  readonly provider: string;
  readonly host: string;
  readonly endpoint_path: string;
  readonly request_body: JsonObject | null;
  readonly response_status: number;
  readonly response_body?: string;
  readonly response_stream?: string;
}

const folder = resolve(
  process.env["DRAGOMAN_TRAFFIC_OPERATIONS"] ?? join(import.meta.dir, "../../../shared/traffic-operations"),
);
export const operationTrafficMissing = !existsSync(join(folder, "index.json"));

/** Returns the cases of an operation whose request is a JSON object. */
export function operationCases(operation: OperationEntry["operation"]): readonly OperationCase[] {
  if (operationTrafficMissing) return [];
  const index = JSON.parse(readFileSync(join(folder, "index.json"), "utf8")) as readonly OperationEntry[];
  return index
    .filter((entry) => entry.operation === operation)
    .map((entry) => JSON.parse(readFileSync(join(folder, entry.file), "utf8")) as OperationCase)
    .filter(({ request_body: body }) => typeof body === "object" && body !== null);
}
