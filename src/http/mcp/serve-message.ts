// One message of a client of `/mcp`, answered by the official library: the list of tools as clients see it, and calls of
// tools as calls of the operation tools.call.
import type {
  CallToolRequest,
  CallToolResult,
  InputRequiredResult,
  McpServer,
  ServerContext,
} from "@modelcontextprotocol/server";
import { asGatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { AccessToken } from "../../core/identity.ts";
import { VERSION } from "../../core/version.ts";
import type { ToolCallRequest } from "../../operations/tool-call/parse-tool-call.ts";
import { TOOL_CALL, type ToolCallAnswer } from "../../operations/tool-call/tool-call.ts";
import { innerRequest } from "../inner-request.ts";
import { askedOnStream, isApproval, isAskingSession, type Question, questionAbout } from "./approval.ts";
import type { CallName } from "./running-calls.ts";
import type { Serving, WaitingCall } from "./serving.ts";
import { strictResult, strictTool } from "./strict-forms.ts";

/** The header with the name of a client's session, in lower case. */
export const SESSION = "mcp-session-id";

const TRACE_HEADER = "x-gateway-trace-id";
/** Members of `_meta` of results. */
const TRACE_ID = "dragoman/trace_id";
const ERROR_CODE = "dragoman/error_code";

const INSTRUCTIONS =
  "The tools of several servers. The name of each tool begins with the name of its server and two underscores.";

/** The key of the question whether a call is approved. */
const APPROVAL = "approval";

export async function serveMessage(message: JsonObject, serving: Serving): Promise<Response> {
  const { library, request, watches, list, running } = serving;
  const { http } = request;
  if (message["method"] === "notifications/cancelled" && isObject(message["params"]))
    running.cancel(nameOf(message["params"]["requestId"], serving));
  const over = new AbortController();
  const handler = library.createMcpHandler(() => serverFor(message, serving), {
    // a stream is kept alive while a tool runs, and an answer in one piece is not
    responseMode: "sse",
    bus: {
      publish: () => {},
      subscribe: (listener) =>
        watches.watch(list, {
          changed: () => listener({ kind: "tools_list_changed" }),
          ended: () => over.abort(),
        }),
    },
  });
  const signal = AbortSignal.any([http.signal, over.signal]);
  const head = new Request(http.url, { method: "POST", headers: http.headers, signal });
  return await handler.fetch(head, { parsedBody: message });
}

/** Returns `null` for a client without a session. */
function nameOf(id: Json | undefined, { caller, request }: Serving): CallName | null {
  const session = request.http.headers.get(SESSION);
  return session === null ? null : { tokenId: caller.token.id, session, id };
}

function serverFor(message: JsonObject, serving: Serving): McpServer {
  const { library, caller, request, running } = serving;
  const served = new library.McpServer(
    { name: "dragoman", title: "Dragoman", version: VERSION },
    { capabilities: { tools: { listChanged: true } }, instructions: INSTRUCTIONS },
  );
  const { server } = served;
  server.setRequestHandler("tools/list", async (_request, { mcpReq }) => ({
    tools: (await caller.tools(mcpReq.signal)).map((tool) => strictTool(tool, library)).filter((tool) => tool !== null),
  }));
  server.setRequestHandler("tools/call", (asked, { mcpReq }) => {
    const over = new AbortController();
    const signal = AbortSignal.any([mcpReq.signal, request.http.signal, over.signal]);
    return running.run(
      nameOf(message["id"], serving),
      () => over.abort(),
      () => called(asked, { served, mcpReq, signal }, serving),
    );
  });
  return served;
}

/** A call that is being answered. */
interface Calling {
  readonly served: McpServer;
  readonly mcpReq: ServerContext["mcpReq"];
  /** Aborted when the client leaves, or cancels the call. */
  readonly signal: AbortSignal;
}

async function called(
  { params }: CallToolRequest,
  calling: Calling,
  serving: Serving,
): Promise<CallToolResult | InputRequiredResult> {
  const { library, request, answers } = serving;
  const { mcpReq } = calling;
  const given = mcpReq.inputResponses?.[APPROVAL];
  if (given !== undefined) return await ranIf(isApproval(given), params, calling, serving);
  const capabilities = (mcpReq.envelope as JsonObject | undefined)?.[library.CLIENT_CAPABILITIES_META_KEY];
  const canRepeat = isObject(capabilities) && capabilities["elicitation"] !== undefined;
  const canAsk = canRepeat || (answers !== null && isAskingSession(request.http.headers.get(SESSION)));
  const first = await ran({ params, approved: false, canAsk }, calling, serving);
  if ("result" in first) return first.result;
  const question = questionAbout(params, first.needs_approval);
  if (canRepeat)
    return library.inputRequired({ inputRequests: { [APPROVAL]: library.inputRequired.elicit(question) } });
  return await ranWhenApproved(question, params, calling, serving);
}

/** Where other workers replace this one meanwhile, it ends after the call. */
async function ranWhenApproved(
  question: Question,
  params: CallToolRequest["params"],
  calling: Calling,
  serving: Serving,
): Promise<CallToolResult> {
  const { context } = serving;
  const cut = new AbortController();
  let waiting: WaitingCall | null = null;
  try {
    let answer: Json;
    try {
      waiting = context.suspend((reason) => cut.abort(reason));
      const signal = AbortSignal.any([calling.signal, cut.signal]);
      answer = await askedInTime(question, { ...calling, signal }, serving);
    } catch (thrown) {
      calling.signal.throwIfAborted();
      const { code, message } = asGatewayError(thrown);
      return failedCall({ code, message }, {}, serving);
    }
    return await ranIf(isApproval(answer), params, calling, {
      ...serving,
      context: { ...context, call: waiting.call },
    });
  } finally {
    waiting?.end();
  }
}

/** Waits for the answer as long as for a call that names no time. Rejects as `askedOnStream`, and with `gateway_overloaded`. */
async function askedInTime(
  question: Question,
  { served, mcpReq, signal }: Calling,
  { context, caller, questions, answers }: Serving,
): Promise<Json> {
  const ended = questions.begin(caller.token);
  try {
    const timeoutMs = context.snapshot().limits.defaultTimeoutMs;
    const waiting = { timeoutMs, signal, isRetiring: () => context.isRetiring() };
    return await askedOnStream(question, served, { mcpReq }, waiting, answers!);
  } finally {
    ended();
  }
}

async function ranIf(
  isApproved: boolean,
  params: CallToolRequest["params"],
  calling: Calling,
  serving: Serving,
): Promise<CallToolResult> {
  if (!isApproved) return failed("The call was not approved, so the tool did not run.", {});
  const end = await ran({ params, approved: true, canAsk: false }, calling, serving);
  return "result" in end ? end.result : failed("The tool waits for an approval that it had.", {});
}

interface AskedCall {
  readonly params: CallToolRequest["params"];
  readonly approved: boolean;
  readonly canAsk: boolean;
}

type Ran = { readonly result: CallToolResult } | Extract<ToolCallAnswer, { readonly needs_approval: unknown }>;

/** Returns the result, or which tool needs approval. Throws for what is an error of the protocol. */
async function ran(
  { params: { name, arguments: args = {}, _meta: sent }, approved, canAsk }: AskedCall,
  { served, signal }: Pick<Calling, "served" | "signal">,
  serving: Serving,
): Promise<Ran> {
  const asked: ToolCallRequest = {
    type: "function_call",
    name,
    arguments: args as JsonObject,
    approved,
    can_ask: canAsk,
  };
  let token: AccessToken;
  try {
    // a person may take long to answer, and the token may have ended meanwhile
    token = await serving.request.identify();
  } catch (thrown) {
    const { code, message } = asGatewayError(thrown);
    return { result: failedCall({ code, message }, {}, serving) };
  }
  const response = await callTool(asked, { token, meta: sent, signal }, serving);
  const told = { [TRACE_ID]: response.headers.get(TRACE_HEADER) };
  const body = (await response.json()) as ToolCallAnswer | { readonly error: JsonObject };
  if ("error" in body) return { result: failedCall(body.error, told, serving) };
  if (!("result" in body)) return body;
  const { result, code, output_schema: schema } = body;
  const meta = code === null ? told : { ...told, [ERROR_CODE]: code };
  // clients of earlier versions know structured content that is an object, and the library lists schemas accordingly
  const known = served.server.projectCallToolResult(strictResult(result, serving.library), schema ?? undefined);
  return { result: { ...known, _meta: meta } };
}

/** Headers of the client that concern the call. The others concern the protocol. */
const PASSED_HEADERS = ["x-gateway-tenant-id", "x-gateway-project-id", "x-request-id"];
/** The headers of a trace, which a message may have of its own: https://modelcontextprotocol.io/seps/414-request-meta */
const TRACE_HEADERS = ["traceparent", "tracestate"];
/** What a header of a trace may hold. */
const PRINTABLE = /^[\x20-\x7e]*$/;

interface ToolCaller {
  readonly token: AccessToken;
  /** What the message says of itself. */
  readonly meta: Readonly<Record<string, unknown>> | undefined;
  readonly signal: AbortSignal;
}

function callTool(
  asked: ToolCallRequest,
  { token, meta, signal }: ToolCaller,
  { context, request }: Serving,
): Promise<Response> {
  const { http, address } = request;
  const headers: Record<string, string> = {};
  const pass = (name: string, value: unknown): void => {
    if (typeof value === "string") headers[name] = value;
  };
  for (const name of PASSED_HEADERS) pass(name, http.headers.get(name));
  for (const name of TRACE_HEADERS) {
    const own = meta?.[name];
    pass(name, typeof own === "string" && PRINTABLE.test(own) ? own : http.headers.get(name));
  }
  return context.call(TOOL_CALL, innerRequest("/mcp", asked, headers, signal), token, address);
}

/**
 * What a model can react to is a result that says so; only an unknown tool and faults of the gateway are errors of the
 * protocol. https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling
 */
function failedCall(error: JsonObject, meta: JsonObject, { library }: Serving): CallToolResult {
  const { code, message } = error as { readonly code: string; readonly message: string };
  const { ProtocolError, ProtocolErrorCode } = library;
  const data = { ...meta, [ERROR_CODE]: code };
  if (code === "tool_not_found" || code === "invalid_request")
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
  if (code === "internal_error") throw new ProtocolError(ProtocolErrorCode.InternalError, message, data);
  return failed(message, data);
}

function failed(message: string, meta: JsonObject): CallToolResult {
  return { content: [{ type: "text", text: message }], isError: true, _meta: meta };
}
