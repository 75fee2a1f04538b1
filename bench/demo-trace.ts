// `npm run demo:trace`: one call through four services (a caller, the real gateway, a model server, a tool server),
// each of which exports its spans over OTLP, and a dump of what the receiver has decoded. It needs no key and no
// network, and exits by itself, with code 1 when the trace is incomplete.
import type { ReceivedSpan } from "../test/harness/servers/otlp-messages.ts";
import { startTracedServices, treeOf } from "../test/harness/traced-world.ts";

const SPANS = 10;
const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const services = await startTracedServices();
  try {
    const { traceId, text } = await services.call({
      route: "r",
      messages: [{ role: "user", content: "How is the sky over Paris?" }],
      tools: [{ type: "mcp", server_label: "sky" }],
      metadata: { team: "blue" },
    });
    say(
      `The answer: ${(JSON.parse(text) as { readonly choices: readonly { readonly message: { readonly content: string } }[] }).choices[0]!.message.content}\n`,
    );
    const spans = await services.receiver.spansCome(SPANS);
    say(
      `Trace ${traceId}, ${spans.length} spans of ${new Set(spans.map(({ resource }) => resource["service.name"])).size} services:\n`,
    );
    for (const line of treeOf(spans)) say(`  ${line}`);
    say("\nThe spans of the gateway, decoded from what it sent:");
    for (const span of spans.filter(({ resource }) => resource["service.name"] === "dragoman")) say(dumpOf(span));
    const isWhole = treeOf(spans).length === SPANS && spans.every((span) => span.traceId === traceId);
    say(isWhole ? "\nOne trace, and every span hangs under the one that called it." : "\nTHE TRACE IS NOT WHOLE");
    return isWhole ? 0 : 1;
  } finally {
    await services.stop();
  }
}

function dumpOf({ name, kind, spanId, parentSpanId, startNano, endNano, status, attributes }: ReceivedSpan): string {
  const lines = Object.entries(attributes).map(
    ([key, value]) => `      ${key} = ${typeof value === "bigint" ? value : JSON.stringify(value)}`,
  );
  return `\n  ${name} (${kind}) ${spanId} under ${parentSpanId}, ${Number(endNano - startNano) / 1e6} ms, status ${status.code}${status.message === "" ? "" : `: ${status.message}`}\n${lines.join("\n")}`;
}

process.exitCode = await main();
