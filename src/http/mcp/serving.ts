// What the MCP server works with: what it has of the gateway, a request, and who asks.
import type * as OfficialLibrary from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { AccessToken } from "../../core/identity.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { HeldBytes } from "../../engine/call/held-bytes.ts";
import type { Operation } from "../../engine/operation.ts";
import type { ToolServers } from "../../mcp/tool-servers.ts";
import type { KeptStore } from "../../engine/keeping/kept-store.ts";
import type { Answers, OpenQuestions } from "./approval.ts";
import type { ListWatches, WatchedList } from "./list-watches.ts";
import type { RunningCalls } from "./running-calls.ts";

/** It is loaded with the first request. */
export type Library = typeof OfficialLibrary;

export interface McpContext {
  readonly clock: Clock;
  snapshot(): Snapshot;
  readonly toolServers: ToolServers;
  /** Answers a call for a caller who was identified, and whose address is known; `null` when it is not. */
  call(operation: Operation, request: Request, token: AccessToken, address: string | null): Promise<Response>;
  /** Where answers of clients wait for their calls; `null` where nothing is kept. */
  readonly kept: KeptStore<unknown> | null;
  /** What the bodies of requests hold in memory while they arrive. */
  readonly held: Pick<HeldBytes, "hold" | "release">;
  /**
   * Begins the wait of a call for a person, which the end of the process waits for where others go on in its place.
   * Throws `shutting_down`.
   */
  suspend(cut: (reason: GatewayError) => void): WaitingCall;
  /** Streams that wait for changes end, and their clients open them again elsewhere. */
  isEnding(): boolean;
  /** Whether the whole gateway is shutting down, so that no call waits for a person any longer. */
  isRetiring(): boolean;
}

export interface WaitingCall {
  /** Answers what the waiting call goes on with, also while the process ends. */
  readonly call: McpContext["call"];
  end(): void;
}

export interface McpRequest {
  readonly http: Request;
  /** The client's address, also behind a proxy; `null` when unknown. */
  readonly address: string | null;
  /** Returns who asks, as far as is known now. Throws what the authentication throws. */
  identify(): MaybePromise<AccessToken>;
}

/** Who asks, in which project, and what they may use there. */
export interface McpCaller {
  readonly token: AccessToken;
  /** Returns the tools as clients see them. Rejects with `tool_server_failed`, or the signal's reason. */
  tools(signal: CancelSignal): Promise<readonly OfficialLibrary.Tool[]>;
}

/** One message of a client, and everything that its answer needs. */
export interface Serving {
  readonly library: Library;
  readonly request: McpRequest;
  readonly caller: McpCaller;
  readonly context: McpContext;
  readonly watches: ListWatches;
  readonly list: WatchedList;
  readonly running: RunningCalls;
  readonly questions: OpenQuestions;
  /** `null` where nothing is kept, so that only clients of version 2026-07-28 can be asked. */
  readonly answers: Answers | null;
}
