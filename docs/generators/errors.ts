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

Errors of chat completions, of the admin API and of all other paths that belong to none of the operations below have this form:

\`\`\`json
{"error": {"message": "...", "type": "...", "param": null, "code": "...", "metadata": {}}, "x_gateway_trace_id": "..."}
\`\`\`

The other operations have the errors of their own forms: [Messages](messages.md#errors), [Responses](responses.md#errors) and
[rerank](rerank.md); [completions](completions.md), [embeddings](embeddings.md) and [moderations](moderations.md) have \`error\` as above without
\`metadata\`, and no trace id in the body. The codes, the statuses and the headers below are the same everywhere.

- \`code\` is one of the codes below, whose meaning never changes. Programs should use it, not the message.
- \`status\` and \`type\` follow from the code alone, and so does whether a retry can help, with the exceptions below. A 400 or 413 of a
  provider that speaks the client's own form [passes with its status](native-operations.md#what-comes-back).
- \`param\` is the path of the invalid field, such as \`messages[2].content[1].image_url.url\`, or null.
- \`metadata\` is present only if the code has further data.
- If a retry cannot help ("no"), the answer has \`x-should-retry: false\`, which the official client libraries obey. An error of another
  code has it where a [limit](api.md#429-too-many-requests) is smaller than the call alone, where tools have already [run](tools.md#the-answer), and
  where a secret cannot be decrypted (\`store_unavailable\`). If the delay is known, the answer has \`retry-after\` in seconds; where it is known more
  exactly, as under limits, \`retry-after-ms\` too.
- A 401 has \`WWW-Authenticate: Bearer\`.
- The trace id is in this body and in the headers \`x-request-id\` and \`x-gateway-trace-id\`; the call's log line has it too.
- The code is also in the header \`x-gateway-error-code\`, and \`param\`, if there is one, in \`x-gateway-error-param\`, for every operation: the forms of some have no place for them.
- In a stream of chat completions that has begun, the same body is sent as one event, followed by \`data: [DONE]\`; other operations end with the
  error event of their form. The HTTP status is already 200; the log and the metrics have the status of the code.`;
