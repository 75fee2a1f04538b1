// One call in the process as its client, its providers and its record show it, so that the work of another thread can
// be compared with that of one thread.
import { expect } from "bun:test";
import type { LongRequests } from "../../src/engine/long-bodies/long-requests.ts";
import type { UpstreamRequest } from "../../src/wire/upstream.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../harness/in-process.ts";
import { openaiAnswer } from "../harness/servers/upstream.ts";

export interface Seen {
  readonly status: number;
  readonly text: string;
  readonly sent: readonly {
    readonly method: string;
    readonly url: string;
    readonly headers: unknown;
    readonly body: string;
    readonly inThread: boolean;
  }[];
  readonly record: unknown;
}

function plain({ method, url, headers, body: text, bytes }: UpstreamRequest): Seen["sent"][number] {
  return {
    method: method ?? "POST",
    url,
    headers,
    body: bytes === undefined ? text : Buffer.from(bytes).toString("utf8"),
    inThread: bytes !== undefined,
  };
}

export async function seen(
  text: string,
  longRequests: LongRequests | null,
  options: StubOptions = {},
  headers: Record<string, string> = {},
): Promise<Seen> {
  const gateway = stubGateway({
    upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer()) }),
    ...options,
    ...(longRequests && { longRequests }),
  });
  const answer = await gateway.chat(text, { headers });
  const said = (await answer.text()).replaceAll(/"x_gateway_trace_id":"\w+"|"id":"chatcmpl-\w+"|"created":\d+/g, "");
  const {
    messages,
    dispositions,
    warnings,
    usage,
    attempts,
    metadata,
    model,
    route,
    endUser,
    policies,
    errorDetail,
    limits,
  } = gateway.records[0]!;
  return {
    status: answer.status,
    text: said,
    sent: gateway.sent.map(plain),
    record: {
      messages,
      dispositions,
      warnings,
      usage,
      metadata,
      model,
      route,
      endUser,
      policies,
      errorDetail,
      limits,
      attempts: attempts.map(({ code, status }) => ({ code, status })),
    },
  };
}

/** What a call in one thread would look like from the other: the same, but that it was written there. Fails where something was written in the serving thread. */
export function sentFrom(here: Seen, there: Seen): Seen {
  for (const [index, { method, inThread }] of there.sent.entries())
    expect([index, inThread || method === "GET"]).toEqual([index, true]);
  return { ...here, sent: here.sent.map((one, index) => ({ ...one, inThread: there.sent[index]?.inThread === true })) };
}
