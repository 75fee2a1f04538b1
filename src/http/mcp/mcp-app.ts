// The MCP server of the gateway, at `/mcp` (promise 16.3): the tools of the project's registered tool servers under one
// address and one token. The official library speaks both generations of the protocol; a call of a tool is a call of the
// operation tools.call. Nothing is kept between requests, so that any worker and any replica can answer each: a session
// is a name that a client of an earlier version repeats, by which it can cancel its calls.
// https://modelcontextprotocol.io/specification
import type { Tool } from "@modelcontextprotocol/server";
import { authorize, type RequestedScope } from "../../auth/authorize.ts";
import { loadedOnce } from "../../core/concurrency/loaded-once.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AccessToken } from "../../core/identity.ts";
import { bodyText, holderOf, readBody } from "../../engine/call/read-body.ts";
import { STREAM_HEADERS } from "../../engine/call/reply-headers.ts";
import { parsedBody } from "../../engine/request/parse.ts";
import type { OfferedTool } from "../../engine/tools/run-tool.ts";
import { registeredTools } from "../../engine/tools/registered-tools.ts";
import { keepAnswer, newSession, OpenQuestions } from "./approval.ts";
import { changeStream } from "./change-stream.ts";
import { ListWatches, type WatchedList } from "./list-watches.ts";
import { RunningCalls } from "./running-calls.ts";
import { serveMessage, SESSION } from "./serve-message.ts";
import type { McpCaller, McpContext, McpRequest } from "./serving.ts";
import { methodNotAllowed } from "../method-not-allowed.ts";

/** Answers requests for `/mcp`. Throws GatewayError for a request that is refused before its message is known. */
export function createMcpApp(context: McpContext): { answer(request: McpRequest): Promise<Response> } {
  const watches = new ListWatches(context);
  const running = new RunningCalls();
  const questions = new OpenQuestions();
  const library = loadedOnce(() => import("@modelcontextprotocol/server"));
  const identified = async (request: McpRequest): Promise<McpCaller> =>
    callerOf(await request.identify(), request.http.headers, context);
  return {
    async answer(request) {
      const { http } = request;
      const { corsOrigins, limits } = context.snapshot();
      requireKnownOrigin(http, corsOrigins);
      const caller = await identified(request);
      const list: WatchedList = {
        token: caller.token,
        current: async (signal) => (await identified(request)).tools(signal),
        permitted: () => identified(request),
      };
      if (http.method === "GET" && http.headers.get("accept")?.includes("text/event-stream") === true)
        return new Response(changeStream(list, watches, http.signal), { headers: EVENTS });
      if (http.method === "DELETE" && http.headers.has(SESSION)) return new Response(null, { status: 204 });
      if (http.method !== "POST")
        throw methodNotAllowed(
          "POST, GET",
          `${new URL(http.url).pathname} is an MCP server: it takes messages with POST, and GET with accept: text/event-stream for a stream of events; got ${http.method}.`,
        );
      const bytes = await readBody(
        http,
        { ...limits, maxBodyBytes: Math.min(limits.maxBodyBytes, MOST_MESSAGE_BYTES) },
        holderOf(caller.token.tenantId, context.held),
      );
      const message = parsedBody(bodyText(bytes), limits.body).value;
      const { kept } = context;
      const answers = kept === null ? null : { kept, tenantId: caller.token.tenantId, tokenId: caller.token.id };
      // an answer of the client; the library refuses what is neither that nor a request
      if (message["method"] === undefined && (message["result"] !== undefined || message["error"] !== undefined)) {
        if (answers !== null) await keepAnswer(message, answers);
        return new Response(null, { status: 202 });
      }
      const served = { library: await library(), request, caller, context, watches, list, running, questions, answers };
      const response = await serveMessage(message, served);
      if (message["method"] === "initialize" && response.ok) response.headers.set(SESSION, newSession(message));
      return response;
    },
  };
}

/** Twice as much as the arguments of a tool may have: messages are read in the thread that serves all calls. */
const MOST_MESSAGE_BYTES = 2_097_152;

const EVENTS = { "content-type": "text/event-stream; charset=utf-8", ...STREAM_HEADERS };

const NO_NEEDS: RequestedScope["needs"] = new Map();

function callerOf(token: AccessToken, headers: Headers, context: McpContext): McpCaller {
  const snapshot = context.snapshot();
  const named = {
    tenantId: headers.get("x-gateway-tenant-id"),
    projectId: headers.get("x-gateway-project-id"),
    needs: NO_NEEDS,
  };
  const principal = authorize(token, named, snapshot);
  return {
    token,
    async tools(signal) {
      const { tools } = await registeredTools(principal, { snapshot, context, signal });
      return [...tools.values()].map(listedTool);
    },
  };
}

/** A tool as its server describes it, under its name here. */
function listedTool({ name, tool }: OfferedTool): Tool {
  const { title, description, inputSchema, outputSchema, annotations } = tool;
  return {
    name,
    ...(title !== null && { title }),
    ...(description !== null && { description }),
    inputSchema: inputSchema as Tool["inputSchema"],
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
  };
}

/**
 * Pages that may speak to `/mcp` are those of the gateway's own address, and those that `cors.origins` names. The protocol
 * asks servers for this check, against names that are made to resolve to this machine:
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning. Programs other than browsers
 * send no origin. Throws `origin_not_allowed`.
 */
function requireKnownOrigin({ headers }: Pick<Request, "headers">, origins: readonly string[]): void {
  const origin = headers.get("origin");
  if (origin === null || origins.includes("*") || origins.includes(origin)) return;
  const host = URL.canParse(origin) ? new URL(origin).host : null;
  if (host !== null && host === headers.get("host")?.toLowerCase() && isOfThisMachine(host)) return;
  throw new GatewayError(
    "origin_not_allowed",
    `Pages of ${JSON.stringify(origin.slice(0, 200))} may not use this MCP server; name the origin in cors.origins of the configuration.`,
  );
}

/** A page whose name was made to resolve to this machine sends that name as host and as origin. */
function isOfThisMachine(host: string): boolean {
  const name = new URL(`http://${host}`).hostname;
  return name === "localhost" || name === "127.0.0.1" || name === "[::1]";
}
