// One call of the conformance run: the gateway's own operation without a server in front of it, and its assembled
// result.
import { newAccessToken } from "../../auth/tokens/access-token.ts";
import { handleCall } from "../../engine/handle.ts";
import { OPERATIONS } from "../../operations/operations.ts";
import type { ChatContext } from "../../engine/call/context.ts";
import { isObject, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { type AccessToken, UNRESTRICTED } from "../../core/identity.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { createSseParser } from "../../wire/sse.ts";

export interface Choice {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish: string | null;
  readonly logprobs: unknown;
}

export interface Came {
  readonly status: number;
  /** The error's code and words, also of one in mid-stream; null on a success. */
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly choices: readonly Choice[];
  readonly usage: { readonly prompt: number; readonly completion: number; readonly total: number } | null;
  /** The whole answer, or every event of the stream. */
  readonly events: readonly JsonObject[];
  /** Whether the stream ended with `[DONE]`; true for a non-streaming answer. */
  readonly done: boolean;
  readonly warnings: readonly string[];
  readonly tookMs: number;
}

export type Caller = ReturnType<typeof openCaller>;

const CHAT = "/chat/completions";
const EVENT_BOUND = 16 * 1024 * 1024;

/** `contextFor` makes the context of a call from a snapshot that contains the run's own access token. */
export function openCaller(snapshot: Snapshot, contextFor: (snapshot: Snapshot) => ChatContext) {
  const { id, text, sha256 } = newAccessToken("project");
  const token: AccessToken = {
    id,
    kind: "project",
    name: "conformance run",
    tenantId: "default",
    projectId: "default",
    userId: null,
    role: "developer",
    permissions: ["byo_endpoint"],
    ...UNRESTRICTED,
    secrets: [{ sha256, retiresAtMs: null }],
    createdAtMs: 0,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
    revokedAtMs: null,
  };
  const context = contextFor({
    ...snapshot,
    tokens: new Map([[id, token]]),
    projects: new Map([["default", { id: "default", tenantId: "default", name: "default" }]]),
  });
  const send = (path: string, body: JsonObject, signal?: AbortSignal): Promise<Response> =>
    handleCall(
      OPERATIONS.get(path)!,
      new Request(`http://conformance.invalid/api/v1${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${text}`, "content-type": "application/json" },
        body: JSON.stringify(body),
        ...(signal !== undefined && { signal }),
      }),
      context,
    );
  const callAt = async (path: string, body: JsonObject): Promise<Came> => {
    const startedMs = context.clock.monotonic();
    const response = await send(path, body);
    const warnings = (response.headers.get("x-gateway-warnings") ?? "").split(",").filter((word) => word !== "");
    const streamed = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const read = streamed
      ? readStream(new Uint8Array(await response.arrayBuffer()))
      : { events: [(await response.json()) as JsonObject], done: true };
    return {
      status: response.status,
      warnings,
      tookMs: context.clock.monotonic() - startedMs,
      done: read.done,
      ...assembled(read.events),
    };
  };
  return {
    call: (body: JsonObject) => callAt(CHAT, body),
    /** Calls the operation at this path; only status, error and events of the result have a meaning. */
    callAt,
    /**
     * Disconnects after the first event; returns the milliseconds that the gateway took to end its side, or null when no
     * stream came.
     */
    async leave(body: JsonObject): Promise<number | null> {
      const client = new AbortController();
      const response = await send(CHAT, { ...body, stream: true }, client.signal);
      if (response.status !== 200) return null;
      const reader = response.body!.getReader();
      await reader.read();
      const leftMs = context.clock.monotonic();
      client.abort();
      await reader.cancel();
      return context.clock.monotonic() - leftMs;
    },
  };
}

function readStream(bytes: Uint8Array): { readonly events: readonly JsonObject[]; readonly done: boolean } {
  const parser = createSseParser({ maxEventBytes: EVENT_BOUND });
  const data = [...parser.push(bytes), ...parser.end()].map((event) => event.data);
  return {
    events: data.filter((text) => text !== "[DONE]").map((text) => JSON.parse(text) as JsonObject),
    done: data.at(-1) === "[DONE]",
  };
}

interface Building {
  text: string;
  reasoning: string;
  readonly calls: { id: string; name: string; arguments: string }[];
  finish: string | null;
  logprobs: unknown;
}

/** Assembles messages and deltas in the same way: a message is a delta that contains everything. */
function assembled(events: readonly JsonObject[]): Pick<Came, "error" | "choices" | "usage" | "events"> {
  const choices: Building[] = [];
  let usage: Came["usage"] = null;
  let error: Came["error"] = null;
  for (const event of events) {
    if (isObject(event["error"]))
      error = {
        code: textOrEmpty(event["error"]["code"] ?? event["error"]["type"]),
        message: textOrEmpty(event["error"]["message"]),
      };
    if (isObject(event["usage"]))
      usage = {
        prompt: Number(event["usage"]["prompt_tokens"]),
        completion: Number(event["usage"]["completion_tokens"]),
        total: Number(event["usage"]["total_tokens"]),
      };
    for (const choice of (event["choices"] as readonly JsonObject[] | undefined) ?? []) {
      const building = (choices[Number(choice["index"])] ??= {
        text: "",
        reasoning: "",
        calls: [],
        finish: null,
        logprobs: null,
      });
      add(building, (choice["message"] ?? choice["delta"] ?? { content: choice["text"] ?? null }) as JsonObject);
      if (typeof choice["finish_reason"] === "string") building.finish = choice["finish_reason"];
      building.logprobs = choice["logprobs"] ?? building.logprobs;
    }
  }
  return { error, choices, usage, events };
}

function add(building: Building, message: JsonObject): void {
  building.text += textOrEmpty(message["content"]);
  building.reasoning += textOrEmpty(message["reasoning_content"]);
  ((message["tool_calls"] ?? []) as readonly JsonObject[]).forEach((call, position) => {
    const known = (building.calls[Number(call["index"] ?? position)] ??= { id: "", name: "", arguments: "" });
    const called = (call["function"] ?? {}) as JsonObject;
    known.id += textOrEmpty(call["id"]);
    known.name += textOrEmpty(called["name"]);
    known.arguments += textOrEmpty(called["arguments"]);
  });
}
