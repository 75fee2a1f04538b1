// A receiver of OpenTelemetry's protocol over HTTP that keeps what comes, decoded by the published schema and by nothing of the gateway's.
// https://github.com/open-telemetry/opentelemetry-proto
import { decodeMetrics, decodeTraces, type ReceivedMetric, type ReceivedSpan } from "./otlp-messages.ts";
import { until } from "../time/until.ts";

export interface ReceivedExport {
  readonly path: string;
  readonly headers: Headers;
  /** As it came, unpacked. */
  readonly bytes: Uint8Array;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly exports: readonly ReceivedExport[];
  spans(): readonly ReceivedSpan[];
  metrics(): readonly ReceivedMetric[];
  /** Waits until that many spans are there; throws after five seconds. */
  spansCome(count: number): Promise<readonly ReceivedSpan[]>;
  close(): Promise<void>;
}

/** `answer`: by the number of the export, from 0; undefined: that all was taken. */
export function otlpReceiver(
  answer: (index: number, request: Request) => Response | undefined | Promise<Response | undefined> = () => undefined,
): OtlpReceiver {
  const exports: ReceivedExport[] = [];
  let count = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const raw = new Uint8Array(await request.arrayBuffer());
      const refused = await answer(count++, request);
      if (refused !== undefined && refused.status !== 200) return refused;
      const bytes = request.headers.get("content-encoding") === "gzip" ? Bun.gunzipSync(raw) : raw;
      exports.push({ path: new URL(request.url).pathname, headers: request.headers, bytes });
      return refused ?? new Response(new Uint8Array(), { headers: { "content-type": "application/x-protobuf" } });
    },
  });
  const at = (signal: string): readonly ReceivedExport[] =>
    exports.filter(({ path }) => path.endsWith(`/v1/${signal}`));
  const spans = (): readonly ReceivedSpan[] => at("traces").flatMap(({ bytes }) => decodeTraces(bytes));
  return {
    url: `http://127.0.0.1:${server.port}`,
    exports,
    spans,
    metrics: () => at("metrics").flatMap(({ bytes }) => decodeMetrics(bytes)),
    async spansCome(wanted) {
      await until(
        () => spans().length >= wanted,
        () => `${wanted} spans, of which ${spans().length} came`,
      );
      return spans();
    },
    close: () => server.stop(true),
  };
}
