// Tool servers in messages: the gateway runs their tools whoever registered them, approvals as in chat completions, and a
// choice of such a tool (promises 10.1 to 10.3, 12.3, 12.4).
import { describe, expect, test } from "bun:test";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { type FakeToolServers, fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { readEvents } from "../../operations/messages/message-events.ts";
import { type ScriptedRound, scriptedModel } from "../tools/scripted-rounds.ts";

const servers = () =>
  fakeToolServers({ sky: { weather: { run: () => says("warm") }, wind: { run: () => says("calm") } } });
const SKY = { type: "mcp", server_label: "sky" };
const BOOK = { name: "book", input_schema: { type: "object", properties: {} } };
const ASKED = { role: "user", content: "Is it warm?" };
const BODY = { model: "up:m", max_tokens: 100, messages: [ASKED], tools: [SKY, BOOK] };
const use = (id: string, name: string) => ({ type: "tool_use", id, name, input: {} });
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "done" });

function stageOf(rounds: readonly ScriptedRound[]): Stub & { readonly tools: FakeToolServers } {
  const providers = [
    providerSettings({ id: "up", family: "custom", baseUrl: "http://up.test/v1", credentials: [storedKey("key")] }),
  ];
  const tools = servers();
  return { ...stubGateway({ upstream: scriptedModel(rounds), providers, tools }), tools };
}

/** The roles of the messages, and the ids of the calls that results answer. */
function sentMessages({ sent }: Stub): readonly string[] {
  const { messages } = JSON.parse(sent[0]!.body) as { messages: readonly { role: string; tool_call_id?: string }[] };
  return messages.map(({ role, tool_call_id: id }) => id ?? role);
}

describe("a tool that waits for approval", () => {
  const always = { ...SKY, require_approval: "always" };
  const never = { ...SKY, require_approval: { never: { tool_names: ["weather"] } } };

  test("[d10.3 d12.4] goes to the client as tool_use, and runs once the client has sent the conversation again with its name under never", async () => {
    for (const stream of [false, true]) {
      const first = await stageOf([{ text: "May I?", calls: [{ name: "sky__weather" }] }]).call(MESSAGES, {
        ...BODY,
        tools: [always],
      });
      const { content, stop_reason: reason } = (await first.json()) as any;
      expect([reason, content[1].name]).toEqual(["tool_use", "sky__weather"]);
      const stage = stageOf([{}, { text: "It is warm." }]);
      const messages = [ASKED, { role: "assistant", content }];
      const answer = await stage.call(MESSAGES, { ...BODY, tools: [never], messages, stream });
      const text = await answer.text();
      const said = stream ? readEvents(text).content[0]!["pieces"] : JSON.parse(text).content[0].text;
      expect([said, stage.tools.calls.length]).toEqual(["It is warm.", 1]);
      expect(sentMessages(stage)).toEqual(["user", "assistant", content[1].id]);
    }
  });

  test("[d10.3 d12.4] runs beside calls that the client has answered, and without approval its path is refused", async () => {
    const turn = { role: "assistant", content: [use("call_1", "book"), use("call_2", "sky__weather")] };
    const messages = [ASKED, turn, { role: "user", content: [result("call_1")] }];
    const stage = stageOf([{}, { text: "It is warm." }]);
    expect((await stage.call(MESSAGES, { ...BODY, tools: [never, BOOK], messages })).status).toBe(200);
    expect(sentMessages(stage)).toEqual(["user", "assistant", "call_1", "call_2"]);
    const refused = await stageOf([{}]).call(MESSAGES, { ...BODY, tools: [always, BOOK], messages });
    const message = ((await refused.json()) as any).error.message as string;
    expect([refused.status, message]).toEqual([400, expect.stringContaining("waits for approval")]);
  });

  test("[d12.4] needs a result as any other where the conversation goes on behind it, and so does a call of the client's own", async () => {
    const turns = (name: string, ...behind: readonly object[]) => [
      ASKED,
      { role: "assistant", content: [use("call_1", name)] },
      ...behind,
    ];
    const own = { name: "sky__own", input_schema: { type: "object", properties: {} } };
    for (const messages of [
      turns("sky__weather", { role: "user", content: "Go on." }),
      turns("sky__weather", { role: "user", content: [{ type: "text", text: "Go on." }] }),
      turns("book"),
      turns("sky__own"),
    ]) {
      const answer = await stageOf([{}]).call(MESSAGES, { ...BODY, tools: [never, BOOK, own], messages });
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("has no result")]);
    }
  });
});

test("[d10.2 d12.4] a choice names a server's tool as the function as which it is offered", async () => {
  const stage = stageOf([{ calls: [{ name: "sky__wind" }] }, { text: "It is calm." }]);
  const answer = await stage.call(MESSAGES, {
    ...BODY,
    tools: [{ ...SKY, require_approval: "never" }],
    tool_choice: { type: "tool", name: "sky__wind" },
  });
  expect([answer.status, stage.tools.calls.map(({ tool }) => tool)]).toEqual([200, ["wind"]]);
  const choices = stage.sent.map(({ body }) => JSON.parse(body).tool_choice);
  expect(choices).toEqual([{ type: "function", function: { name: "sky__wind" } }, undefined]);
  const unknown = await stageOf([{}]).call(MESSAGES, { ...BODY, tool_choice: { type: "tool", name: "other" } });
  expect(unknown.status).toBe(400);
});

test("[d12.3 d10.1] the gateway runs the tools of a server at the caller's own address, because the vendor's form has no such tool", async () => {
  const gateway = stubGateway({
    permissions: ["byo_endpoint"],
    providers: [providerSettings({ id: "anthropic", credentials: [storedKey("k")], hostedTools: ["mcp"] })],
    tools: servers(),
    upstream: cannedUpstream({
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude-sonnet-4-5",
        content: [{ type: "text", text: "Hello" }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    }),
  });
  const own = { ...SKY, server_url: "https://tools.test/mcp" };
  const answer = await gateway.call(MESSAGES, { ...BODY, model: "anthropic:claude-sonnet-4-5", tools: [own] });
  expect([answer.status, ((await answer.json()) as any).content[0].text]).toEqual([200, "Hello"]);
  const { tools } = JSON.parse(gateway.sent[0]!.body) as { tools: readonly { name: string }[] };
  expect(tools.map(({ name }) => name)).toEqual(["sky__weather", "sky__wind"]);
});
