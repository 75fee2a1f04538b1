// Bodies that their head calls a stream of server-sent events, and that are JSON.
import { describe, expect, test } from "bun:test";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";

function ask(body: string, chunk: number | "whole", maxEventBytes?: number): Promise<Response> {
  return stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk }),
    ...(maxEventBytes !== undefined && { limits: { maxEventBytes } }),
  }).chat({ model: "vllm:m", messages: [{ role: "user", content: "Why?" }], stream: true });
}

describe.each([["whole"], [1], [7]] as const)("a body of the type of streams, read %p at a time", (chunk) => {
  const refusal = { error: { message: "The model ‘m’ is busy.", type: "overloaded_error" } };
  test.each([JSON.stringify(refusal), `\n\n ${JSON.stringify(refusal, null, 2)}\n`, JSON.stringify([refusal])])(
    "[s:errors.5xx] that is an error has its message and its class: %j",
    async (body) => {
      const response = await ask(body, chunk);
      expect([response.status, await response.json()]).toMatchObject([
        503,
        { error: { code: "upstream_overloaded", message: refusal.error.message } },
      ]);
    },
  );

  test("[d8.2] that is a whole answer is streamed", async () => {
    const message = { role: "assistant", content: "Because." };
    const read = readStream(
      await (
        await ask(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }, null, 1), chunk)
      ).text(),
    );
    expect([read.content, read.error, read.done]).toEqual(["Because.", null, true]);
  });

  test.each(["", "\n\n"])("[d8.3] that says nothing is a stream that broke off: %j", async (body) => {
    const response = await ask(body, chunk);
    expect([response.status, ((await response.json()) as any).error.code]).toEqual([502, "upstream_incomplete"]);
  });

  test("[d8.3] that is half of an answer, or too large, fails", async () => {
    for (const [body, bound] of [
      ['{"choices": [', undefined],
      [JSON.stringify({ choices: [], text: "x".repeat(2000) }), 1024],
    ] as const)
      expect((await ask(body, chunk, bound)).status).toBe(502);
  });
});
