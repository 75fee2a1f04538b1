// Guard services without sockets, beside a provider: what is sent to the host `guard.test`, or to another address that a
// test names, goes to the service.
import { untilOver } from "../../../src/core/concurrency/timeout.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { type CannedAnswer, cannedUpstream } from "../in-process.ts";

export interface AskedService {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: any;
}

export interface FakeService {
  readonly upstream: UpstreamClient;
  /** What it was asked, in order. */
  readonly asked: readonly AskedService[];
}

export function fakeService(
  judge: (body: any, nth: number) => object | CannedAnswer | Promise<object | CannedAnswer>,
  provider: UpstreamClient,
  address = "http://guard.test",
): FakeService {
  const asked: AskedService[] = [];
  return {
    asked,
    upstream: {
      async send(request, call) {
        if (!request.url.startsWith(address)) return provider.send(request, call);
        const body: unknown = JSON.parse(request.body);
        const nth = asked.push({ url: request.url, headers: request.headers, body });
        const answer = await untilOver(Promise.resolve(judge(body, nth)), call.signal);
        const canned = "body" in answer ? answer : { body: JSON.stringify(answer) };
        return cannedUpstream({ headers: { "content-type": "application/json" }, ...canned }).send(request, call);
      },
    },
  };
}

/** The gateway's own answer about texts: each match of the pattern, in code points. */
export function findingsOf(texts: readonly string[], pattern: RegExp, label = "WORD"): object {
  return {
    findings: texts.flatMap((text, index) =>
      [...text.matchAll(pattern)].map((match) => ({
        text: index,
        start: pointsOf(text.slice(0, match.index)),
        end: pointsOf(text.slice(0, match.index + match[0].length)),
        label,
      })),
    ),
  };
}

function pointsOf(text: string): number {
  return Array.from(text).length;
}
