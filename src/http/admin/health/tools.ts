// Tries out a registered tool server: which tools it lists, whether and how fast it responds, and what one of its tools
// answers. A fault of the server is part of the result and not an error of the operation; the server is called outside
// of any transaction.
import { z } from "zod";
import { toolRestrictionOf } from "../../../auth/permitted-models.ts";
import type { Cancellation } from "../../../core/concurrency/cancellation.ts";
import { withCancellation } from "../../../core/concurrency/timeout.ts";
import { GatewayError } from "../../../core/errors.ts";
import { roleAtLeast } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import { insufficientRole } from "../../../core/refusals.ts";
import type { ToolResultPart, ToolServer } from "../../../core/configured/tool.ts";
import type { ToolAsker, ToolServers } from "../../../mcp/tool-servers.ts";
import { type AdminCall, type AdminOperation, type Answer, PLACES_BELOW, reading, writing } from "../operation.ts";
import { MAX_ADMIN_BODY_BYTES } from "../input.ts";
import { shownAs, type ThingOf } from "../shown.ts";
import type { Writer } from "../../../store/writer.ts";

const faultShape = {
  code: z.string(),
  message: z.string(),
  detail: z
    .string()
    .nullable()
    .meta({ description: "The error as it is in the log, for operators; null for other callers." }),
};
const fault = z.strictObject(faultShape).nullable().meta({ description: "Null if the test succeeded." });

const toolList = z
  .strictObject({
    data: z.array(
      z.strictObject({
        name: z.string(),
        title: z.string().nullable(),
        description: z.string().nullable(),
        input_schema: z.looseObject({}),
      }),
    ),
  })
  .meta({ id: "ToolList" });

const serverStatus = z
  .strictObject({
    ok: z.boolean(),
    transport: z.enum(["streamable_http", "sse", "stdio"]).nullable(),
    protocol_version: z.string().nullable().meta({ description: "The protocol version agreed with the server." }),
    server_name: z.string().nullable(),
    server_version: z.string().nullable(),
    connect_ms: z
      .number()
      .nullable()
      .meta({ description: "Time to connect; near 0 if there was a connection already." }),
    list_ms: z.number().nullable().meta({ description: "Time to list its tools, without the cache." }),
    tools: z.int().nullable(),
    error: fault,
  })
  .meta({ id: "ToolServerTest" });

const block = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("image"), media_type: z.string(), data: z.string() }),
]);
const callBody = z
  .strictObject({
    tool: z.string().min(1).max(256),
    arguments: z.looseObject({}).optional().meta({ description: "Arguments of the tool; none by default." }),
  })
  .meta({ id: "ToolCall" });
const result = z
  .strictObject({
    ok: z.boolean().meta({ description: "If false there is no result, and `error` says why." }),
    is_error: z.boolean().nullable().meta({ description: "Whether the tool reports an error." }),
    content: z.array(block).nullable().meta({
      description: "Null if there is no result, and where one of more than 1 MiB is repeated under an idempotency key.",
    }),
    structured: z.unknown().meta({ description: "Null if the result has no structured content, or is not repeated." }),
    result_bytes: z.int().nullable(),
    duration_ms: z.number(),
    error: fault,
  })
  .meta({ id: "ToolCallResult" });

/** Finds the server by its name or its id. Throws `tool_server_not_found`, `insufficient_role`. */
function serverOf(call: AdminCall): ToolServer {
  const { tenantId, projectId } = call.place!;
  const servers = call.snapshot.toolServers.of(tenantId, projectId);
  const key = call.params["id"]!;
  const server = servers.get(key) ?? [...servers.values()].find((one) => one.key.startsWith(`${key} `));
  if (server === undefined)
    throw new GatewayError(
      "tool_server_not_found",
      `There is no enabled tool server named ${JSON.stringify(key.slice(0, 100))}.`,
    );
  if (server.role !== null && !roleAtLeast(call.role, server.role))
    throw insufficientRole(`This tool server needs the role ${server.role} or higher; the role here is ${call.role}.`);
  return server;
}

/** As calls of models ask it: a token may be restricted to some tools. */
function permits({ caller }: AdminCall, { label }: ToolServer, tool: string): boolean {
  return toolRestrictionOf(caller.token)?.(`${label}__${tool}`) ?? true;
}

function faultOf(thrown: unknown, { caller }: AdminCall): ThingOf<typeof faultShape> {
  if (!(thrown instanceof GatewayError)) throw thrown;
  return { code: thrown.code, message: thrown.message, detail: caller.isOperator ? thrown.detail : null };
}

const NOTHING_KNOWN = {
  transport: null,
  protocolVersion: null,
  serverName: null,
  serverVersion: null,
  connectMs: null,
  listMs: null,
  tools: null,
};

/**
 * What is kept of a request for a day is no longer than the document of another request, however much a server sends
 * that a tenant has registered.
 */
function isRepeated({ result_bytes: bytes }: JsonObject): boolean {
  return typeof bytes !== "number" || bytes <= MAX_ADMIN_BODY_BYTES;
}

async function tested(call: AdminCall, servers: ToolServers): Promise<ThingOf<typeof serverStatus.shape>> {
  const server = serverOf(call);
  if (call.dryRun) return { ok: true, ...NOTHING_KNOWN, error: null };
  try {
    const found = await inTime((signal) => servers.test(server, signal));
    return {
      ...found,
      ok: true,
      serverName: found.name,
      serverVersion: found.version,
      connectMs: rounded(found.connectMs),
      listMs: rounded(found.listMs),
      error: null,
    };
  } catch (thrown) {
    return { ok: false, ...NOTHING_KNOWN, error: faultOf(thrown, call) };
  }
}

async function called(
  call: AdminCall<z.output<typeof callBody>>,
  servers: ToolServers,
  monotonic: () => number,
): Promise<ThingOf<typeof result.shape>> {
  const server = serverOf(call);
  const asker: ToolAsker = { tenantId: call.place!.tenantId, trace: null };
  if (!permits(call, server, call.body.tool))
    throw new GatewayError(
      "tool_not_found",
      `The tool server has no tool ${JSON.stringify(call.body.tool.slice(0, 100))} that this access token may use.`,
      { param: "tool" },
    );
  const nothing = { isError: null, content: null, structured: null, resultBytes: null };
  if (call.dryRun) return { ok: true, ...nothing, durationMs: 0, error: null };
  const beganMs = monotonic();
  try {
    const {
      parts,
      structured = null,
      isError,
      bytes,
    } = await inTime((signal) =>
      servers.call(server, call.body.tool, (call.body.arguments ?? {}) as JsonObject, signal, asker),
    );
    return {
      ok: true,
      isError,
      content: parts.map(shownPart),
      structured,
      resultBytes: bytes,
      durationMs: rounded(monotonic() - beganMs),
      error: null,
    };
  } catch (thrown) {
    return { ok: false, ...nothing, durationMs: rounded(monotonic() - beganMs), error: faultOf(thrown, call) };
  }
}

/** A server's own timeout may be much longer than an administrator waits for the answer to a test. */
const MAX_WAIT_MS = 240_000;

const inTime = <T>(ask: (signal: Cancellation) => Promise<T>): Promise<T> =>
  withCancellation(
    ask,
    MAX_WAIT_MS,
    () => new GatewayError("tool_timeout", `The tool server did not answer within ${MAX_WAIT_MS / 1000} s.`),
  );

function shownPart(part: ToolResultPart): z.output<typeof block> {
  return part.kind === "text"
    ? { type: "text", text: part.text }
    : { type: "image", media_type: part.mediaType, data: part.base64 };
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

export function toolOperations(servers: ToolServers, monotonic: () => number): readonly AdminOperation[] {
  return PLACES_BELOW.flatMap(({ name: place, base }) => {
    const item = `${base}/tool_servers/{id}`;
    const written = (
      call: AdminCall,
      writer: Writer,
      action: "test" | "call",
      body: JsonObject,
      about: JsonObject = {},
    ): Answer => {
      const { key, label } = serverOf(call);
      // Arguments and results may hold anything, so they are not recorded.
      const after = {
        ...about,
        ok: body["ok"] ?? null,
        ...(body["is_error"] !== undefined && { is_error: body["is_error"] }),
      };
      writer.note({
        action,
        outcome: "done",
        kind: "tool_server",
        ...call.place!,
        targetId: key.split(" ")[0]!,
        targetName: label,
        after,
      });
      return { body };
    };
    return [
      reading({
        id: `list${place}Tools`,
        path: `${item}/tools`,
        tag: "tool_servers",
        summary: "List the usable tools of a tool server",
        answer: toolList,
        run: async (call) => {
          const server = serverOf(call);
          const all = await inTime((signal) => servers.list(server, signal));
          return { body: shownAs(toolList, { data: all.filter(({ name }) => permits(call, server, name)) }) };
        },
      }),
      writing({
        id: `test${place}ToolServer`,
        method: "post",
        path: `${item}/test`,
        tag: "tool_servers",
        summary: "Test the connection to a tool server",
        answer: serverStatus,
        prepare: async (call) => ({ found: shownAs(serverStatus, await tested(call, servers)) }),
        run: (call, writer, found) => written(call, writer, "test", found),
      }),
      writing({
        id: `call${place}Tool`,
        method: "post",
        path: `${item}/call`,
        tag: "tool_servers",
        summary: "Call one tool of a tool server",
        body: callBody,
        answer: result,
        prepare: async (call) => ({ found: shownAs(result, await called(call, servers, monotonic)) }),
        run: (call, writer, found) => ({
          ...written(call, writer, "call", found, { tool: call.body.tool }),
          ...(!isRepeated(found) && { repeated: { ...found, content: null, structured: null } }),
        }),
      }),
    ];
  });
}
