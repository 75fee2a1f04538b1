// docs/errors.md: the catalogue of errors as a page.
import { CATALOGUE, type CatalogueEntry, type ErrorSource } from "../src/core/errors.ts";
import { code, generatedMark, table } from "./markdown.ts";

const GROUPS: readonly (readonly [source: ErrorSource, title: string, words: string])[] = [
  [
    "client",
    "What the request is at fault for",
    "The same request fails again; the message says what was expected and what came.",
  ],
  ["gateway", "What the gateway is at fault for", "The request was in order."],
  [
    "upstream",
    "What the provider said or did",
    "The provider's own words are in the message, but for what it says about the operator's credential: that is in the log only, under the trace id.",
  ],
];

export function errorsPage(): string {
  const entries = Object.entries(CATALOGUE) as readonly (readonly [string, CatalogueEntry])[];
  const sections = GROUPS.map(
    ([source, title, words]) =>
      `## ${title}\n\n${words}\n\n${table(HEAD, entries.filter(([, entry]) => entry.source === source).map(row))}`,
  );
  return `${[INTRODUCTION, ...sections].join("\n\n")}\n`;
}

const HEAD = ["`code`", "status", "`type`", "retry", "meaning", "what to do"];

function row([name, { status, type, retry, meaning, cure }]: readonly [string, CatalogueEntry]): readonly string[] {
  return [code(name), String(status), code(type), retry ? "may help" : "no", meaning, cure];
}

const INTRODUCTION = `${generatedMark("src/core/errors.ts")}
# Errors

Every error that leaves the gateway has one body, on every path:

\`\`\`json
{"error": {"message": "...", "type": "...", "param": null, "code": "...", "metadata": {}}, "x_gateway_trace_id": "..."}
\`\`\`

- \`code\` is always one of the words below, and never changes its meaning. Programs should look at it, not at the message.
- \`status\`, \`type\` and whether to try again follow from the code alone.
- \`param\` is the path of the field that is at fault, such as \`messages[2].content[1].image_url.url\`, or null.
- \`metadata\` is there only where a code has more to say.
- Where a retry cannot help ("no"), the answer carries \`x-should-retry: false\`, which the official client libraries obey. Where it may help and
  the wait is known, the answer carries \`retry-after\` (seconds) and \`retry-after-ms\`.
- A 401 carries \`WWW-Authenticate: Bearer\`.
- The trace id is in the body and in the headers \`x-request-id\` and \`x-gateway-trace-id\`; the log line of the call has it too.
- Inside a stream that has begun, the same body comes as one event, then \`data: [DONE]\`. The HTTP status is 200 by then; the log and the metrics have
  the status of the code.`;
