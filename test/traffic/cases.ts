// The recorded provider traffic, where it exists: DRAGOMAN_TRAFFIC or ../shared/traffic beside the project. None of it
// is copied here.
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { JsonObject } from "../../src/core/json.ts";

export interface TrafficEntry {
  readonly id: string;
  readonly provider: string;
  readonly protocol: string;
  readonly model: string | null;
  readonly status: number;
  readonly kinds: readonly string[];
  readonly file: string;
}
export interface ExpectedChoice {
  readonly index: number;
  readonly text: string | null;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly { readonly id: string | null; readonly name: string; readonly arguments: unknown }[];
  readonly finish_reason: string | null;
  readonly text_is_json?: boolean;
}
export interface TrafficCase {
  readonly id: string;
  readonly provider: string;
  readonly model: string | null;
  readonly protocol: string;
  readonly host: string;
  readonly endpoint_path: string;
  readonly request_body: JsonObject | null;
  readonly client_request: JsonObject | "same as request_body" | null;
  readonly client_request_exact: boolean;
  readonly response_status: number;
  readonly response_headers: Readonly<Record<string, string>>;
  readonly response_body?: string;
  readonly response_stream?: string;
  /** A binary event stream. */
  readonly response_stream_b64?: string;
  readonly kinds: readonly string[];
  readonly expect: {
    readonly choices: readonly ExpectedChoice[];
    readonly usage?: Readonly<Record<string, number | null>> | null;
    readonly error?: { readonly message?: string; readonly type?: string; readonly code?: unknown } | null;
    readonly prompt_blocked?: string | boolean;
    readonly tool_plan?: string;
  };
}

export const trafficFolder = resolve(
  process.env["DRAGOMAN_TRAFFIC"] ?? join(import.meta.dir, "../../../shared/traffic"),
);
export const vectorsFolder = resolve(trafficFolder, "../vectors");
export const trafficMissing = !existsSync(join(trafficFolder, "index.json"));

export function trafficIndex(): readonly TrafficEntry[] {
  return trafficMissing ? [] : (JSON.parse(readFileSync(join(trafficFolder, "index.json"), "utf8")) as TrafficEntry[]);
}
export function loadCase(entry: TrafficEntry): TrafficCase {
  return JSON.parse(readFileSync(join(trafficFolder, entry.file), "utf8")) as TrafficCase;
}
/** A few recordings are of requests without a conversation, which the gateway itself refuses. */
export const hasConversation = ({ request_body: body }: TrafficCase): boolean =>
  body !== null && (Array.isArray(body["messages"]) || Array.isArray(body["contents"]));

export function clientBody(recorded: TrafficCase): JsonObject {
  const known = recorded.client_request === "same as request_body" ? recorded.request_body : recorded.client_request;
  const body: JsonObject =
    known !== null && typeof known === "object" && Array.isArray(known["messages"])
      ? known
      : { messages: [{ role: "user", content: "Hello" }] };
  const streamed = (recorded.response_stream ?? recorded.response_stream_b64) !== undefined;
  return { ...body, model: body["model"] ?? recorded.model ?? "some-model", ...(streamed && { stream: true }) };
}
