// A caller, a model's server and a tool server around a real gateway, each with spans of its own in one distributed trace, and one receiver for all of them. The
// model's server refuses the first request, asks for a tool in its second answer, and says what the tool said in its third.
import { newSpanId, newTraceId } from "../../src/core/ids.ts";
import { encodeSpans, type Span } from "../../src/observe/integrations/otlp/span.ts";
import { ProtobufWriter } from "../../src/wire/protobuf.ts";
import { type GatewayProcess, startGateway } from "./processes/gateway-process.ts";
import { type OtlpReceiver, otlpReceiver } from "./servers/otlp-receiver.ts";
import { encodedSpan, type ReceivedSpan } from "./servers/otlp-messages.ts";
import { openToolServer, said } from "./tools/tool-server.ts";

export interface TracedServices {
  readonly receiver: OtlpReceiver;
  readonly gateway: GatewayProcess;
  /** Calls the gateway under a span of the caller's own; gives the trace and the answer's text. */
  call(body: object): Promise<{ readonly traceId: string; readonly spanId: string; readonly text: string }>;
  stop(): Promise<void>;
}

interface Parent {
  readonly traceId: string;
  readonly spanId: string;
}

function parentOf(traceparent: unknown): Parent | null {
  const match = typeof traceparent === "string" ? /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(traceparent) : null;
  return match === null ? null : { traceId: match[1]!, spanId: match[2]! };
}

/** Another service: its work is a span under the one that it received. */
function service(name: string, receiverUrl: string) {
  const writer = new ProtobufWriter();
  return async (parent: Parent | null, own: Parent, parts: Pick<Span, "name" | "kind" | "startMs">): Promise<void> => {
    const span: Span = {
      ...own,
      parentSpanId: parent?.spanId ?? null,
      hasRemoteParent: parent !== null,
      traceState: null,
      endMs: Date.now(),
      attributes: {},
      error: null,
      ...parts,
    };
    await fetch(`${receiverUrl}/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/x-protobuf" },
      body: encodeSpans(writer, { "service.name": name }, [encodedSpan(span)]),
    });
  };
}

const USAGE = { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 };

/** `config`: what else stands in the gateway's file; `endpoint`: where the gateway exports to in place of the receiver. */
export async function startTracedServices({
  endpoint,
  config = "",
}: { readonly endpoint?: string; readonly config?: string } = {}): Promise<TracedServices> {
  const receiver = otlpReceiver();
  const [asCaller, asModel, asTool] = ["caller", "model", "tool"].map((name) => service(name, receiver.url)) as [
    ReturnType<typeof service>,
    ReturnType<typeof service>,
    ReturnType<typeof service>,
  ];
  let asked = 0;
  const model = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const startMs = Date.now();
      const parent = parentOf(request.headers.get("traceparent"));
      const { messages } = (await request.json()) as { messages: readonly { role: string; content: unknown }[] };
      if (parent !== null)
        await asModel(
          parent,
          { traceId: parent.traceId, spanId: newSpanId() },
          { name: "generate", kind: "server", startMs },
        );
      if (asked++ === 0)
        return Response.json(
          { error: { message: "Too many people.", type: "server_error", code: null, param: null } },
          { status: 503 },
        );
      const last = messages.at(-1)!;
      const message =
        last.role === "tool"
          ? { role: "assistant", content: `It says: ${JSON.stringify(last.content)}` }
          : {
              role: "assistant",
              content: null,
              tool_calls: [
                { id: "call_sky", type: "function", function: { name: "sky__weather", arguments: '{"city":"Paris"}' } },
              ],
            };
      return Response.json({
        id: `chatcmpl-${asked}`,
        object: "chat.completion",
        created: 1_767_225_600,
        model: "m",
        choices: [{ index: 0, message, finish_reason: last.role === "tool" ? "stop" : "tool_calls" }],
        usage: USAGE,
      });
    },
  });
  const tools = openToolServer({
    tools: [
      {
        name: "weather",
        inputSchema: { type: "object", properties: { city: { type: "string" } } },
        run: async ({ args }) => {
          const startMs = Date.now();
          const params = tools.sent.findLast(({ message }) => message["method"] === "tools/call")?.message["params"] as
            | { readonly _meta?: { readonly traceparent?: string } }
            | undefined;
          const parent = parentOf(params?._meta?.traceparent);
          if (parent !== null)
            await asTool(
              parent,
              { traceId: parent.traceId, spanId: newSpanId() },
              { name: "look at the sky", kind: "server", startMs },
            );
          return said(`${args["city"] as string} is warm`);
        },
      },
    ],
  });
  const gateway = await startGateway({
    config: `providers:
  one: { type: custom, base_url: "http://127.0.0.1:${model.port}/v1", api_key: k }
  two: { type: custom, base_url: "http://127.0.0.1:${model.port}/v1", api_key: k }
routes:
  r: { targets: ["one:m", "two:m"] }
tool_servers:
  sky: { url: ${JSON.stringify(tools.url)}, require_approval: never }
integrations:
  traces: { type: otlp, endpoint: ${JSON.stringify(endpoint ?? receiver.url)}, batch_wait_ms: 50, metrics_interval_s: 1 }
${config}`,
  });
  return {
    receiver,
    gateway,
    async call(body) {
      asked = 0;
      const own = { traceId: newTraceId(1_767_571_200_000), spanId: newSpanId() };
      const startMs = Date.now();
      const response = await gateway.chat(body, {
        headers: { traceparent: `00-${own.traceId}-${own.spanId}-01`, tracestate: "caller=1" },
      });
      const text = await response.text();
      await asCaller(null, own, { name: "ask", kind: "client", startMs });
      return { ...own, text };
    },
    async stop() {
      await gateway.stop();
      await model.stop(true);
      await tools.stop();
      await receiver.close();
    },
  };
}

/** The trace as a tree, a line for each span: what it is, which service's, and how long. */
export function treeOf(spans: readonly ReceivedSpan[]): readonly string[] {
  const below = (parent: string, depth: number): readonly string[] =>
    spans
      .filter(({ parentSpanId }) => parentSpanId === parent)
      .toSorted((a, b) => Number(a.startNano - b.startNano))
      .flatMap((span) => [
        `${"  ".repeat(depth)}${String(span.resource["service.name"])}: ${span.name} (${span.kind}${span.status.code === "error" ? `, error ${span.status.message}` : ""})`,
        ...below(span.spanId, depth + 1),
      ]);
  return below("", 0);
}
