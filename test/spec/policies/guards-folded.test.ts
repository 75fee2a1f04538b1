// Promise 3.5 through the whole gateway: patterns of guards see text without characters of no width and with
// compatibility forms folded, in requests that are translated or sent as the client wrote them, in answers and streams.
import { describe, expect, test } from "bun:test";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { HELLO } from "../chat-calls.ts";
import { nativeUpstream } from "../operations/native-answers.ts";
import { chunk, play } from "../answers/played-stream.ts";

const HIDDEN = [
  "proj\u200bect falcon",
  "project\u00ad falcon",
  "ｐｒｏｊｅｃｔ ｆａｌｃｏｎ",
  "project \ufefff\u2060alcon",
];
const snapshot = (on: "input" | "output") => ({
  policies: policiesFor({
    name: "falcon",
    guard: { on, patterns: ["project falcon"], action: "mask", mask: "[hidden]" },
  }),
});

describe.each(HIDDEN)("%s", (hidden) => {
  test("[d3.5] is masked in a request, translated and as the client wrote it", async () => {
    const stub = stubGateway({ upstream: nativeUpstream(), snapshot: snapshot("input") });
    await stub.call(
      MESSAGES,
      `{"model":"anthropic:claude-sonnet-5", "max_tokens":1e2,"messages":[{"role":"user","content":"Of ${hidden}."}]}`,
    );
    await stub.chat({ model: "openai:m", messages: [{ role: "user", content: `Of ${hidden}.` }] });
    for (const { body } of stub.sent) expect(body).toContain("Of [hidden].");
    expect(stub.sent).toHaveLength(2);
    expect(stub.sent[0]!.body).toContain('"max_tokens":1e2');
  });

  test("[d3.5] is masked in an answer, and in a stream wherever it is cut", async () => {
    const stub = stubGateway({
      upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer(`Of ${hidden}.`)) }),
      snapshot: snapshot("output"),
    });
    expect(await (await stub.chat({ model: "openai:m", messages: HELLO })).text()).toContain("Of [hidden].");
    const pieces = Array.from(`Of ${hidden}.`).map((content) => chunk({ content }));
    const { text } = await play([...pieces, chunk({}, "stop")], { stub: { snapshot: snapshot("output") } });
    const said = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join("");
    expect(said).toBe("Of [hidden].");
  });
});
