// docs/errors.md: the catalogue of errors as a page.
import { CATALOGUE, type CatalogueEntry, type ErrorSource } from "../../src/core/errors.ts";
import { code, generatedMark, table } from "./markdown.ts";

const GROUPS: readonly (readonly [source: ErrorSource, title: string, words: string])[] = [
  [
    "client",
    "Errors of the request",
    "Sending the same request again fails again. The message says what was expected and what was received.",
  ],
  ["gateway", "Errors of the gateway", "The request was valid."],
  [
    "upstream",
    "Errors of the provider",
    "The message quotes the provider. What a provider says about the operator's credential is only in the log, under the trace id.",
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

Every error has the same form, on every path:

\`\`\`json
{"error": {"message": "...", "type": "...", "param": null, "code": "...", "metadata": {}}, "x_gateway_trace_id": "..."}
\`\`\`

- \`code\` is one of the codes below, whose meaning never changes. Programs should use it, not the message.
- \`status\`, \`type\` and whether a retry makes sense follow from the code alone.
- \`param\` is the path of the invalid field, such as \`messages[2].content[1].image_url.url\`, or null.
- \`metadata\` is present only if the code has further data.
- If a retry cannot help ("no"), the answer has \`x-should-retry: false\`, which the official client libraries obey. If it may help and
  the delay is known, the answer has \`retry-after\` (seconds) and \`retry-after-ms\`.
- A 401 has \`WWW-Authenticate: Bearer\`.
- The trace id is in the body and in the headers \`x-request-id\` and \`x-gateway-trace-id\`; the call's log line has it too.
- The code is also in the header \`x-gateway-error-code\`, and \`param\`, if there is one, in \`x-gateway-error-param\`, for every operation: the forms of some have no place for them.
- In a stream that has begun, the same body is sent as one event, followed by \`data: [DONE]\`. The HTTP status is already 200; the log and the metrics
  have the status of the code.`;
