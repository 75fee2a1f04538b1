// Tool servers in responses: their tools, their calls with the results, and approvals are items with all their events,
// and go back to the model when the client sends them back (promises 12.2 to 12.5).
import { describe, expect, test } from "bun:test";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import { fakeToolServers, says } from "../harness/fake-tools.ts";
import { type Stub, stubGateway } from "../harness/in-process.ts";
import { providerSettings, storedKey } from "../harness/targets.ts";
import { eventsOf } from "../operations/responses/responses-calls.ts";
import { type ScriptedRound, scriptedModel } from "./scripted-rounds.ts";

const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const servers = () =>
  fakeToolServers({
    sky: {
      weather: { inputSchema: SCHEMA, run: ({ city }: Record<string, any>) => says(`${city} is warm`) },
      broken: { run: () => says("no such day", true) },
    },
  });

function stageOf(rounds: readonly ScriptedRound[]): Stub {
  const providers = [
    providerSettings({ id: "up", family: "custom", baseUrl: "http://up.test/v1", credentials: [storedKey("key")] }),
  ];
  return stubGateway({ upstream: scriptedModel(rounds), providers, tools: servers() });
}

const MCP = { type: "mcp", server_label: "sky", require_approval: "never" };
const ASKED = { role: "user", content: "Is it warm in Paris?" };
const BODY = { model: "up:m", input: [ASKED], tools: [MCP], store: false };
const weather = { name: "sky__weather", args: '{"city":"Paris"}' };
const ROUNDS: readonly ScriptedRound[] = [
  { text: "I look.", calls: [weather, { name: "sky__broken" }] },
  { text: "It is warm." },
];

/** The output of a plain and of a streamed answer, whose events are checked against it. */
async function outputs(rounds: readonly ScriptedRound[], body: object): Promise<readonly Record<string, any>[][]> {
  const plain = await stageOf(rounds).call(RESPONSES, body);
  const { output, error } = (await plain.json()) as any;
  expect(error).toBeNull();
  const events = eventsOf(await (await stageOf(rounds).call(RESPONSES, { ...body, stream: true })).text());
  const streamed = events.at(-1)!["response"].output;
  const done = events.filter(({ type }) => type === "response.output_item.done");
  expect(done.map(({ item }) => item)).toEqual(streamed);
  expect(done.map(({ output_index: index }) => index)).toEqual(streamed.map((_: unknown, index: number) => index));
  return [output, streamed];
}

const shape = ({ type, status }: Record<string, any>): string => `${type} ${status ?? ""}`.trim();

describe("tools that the gateway runs", () => {
  test("[d12.4 d12.5] are listed and called in items, in the order of the rounds, plain and streamed alike", async () => {
    for (const output of await outputs(ROUNDS, BODY)) {
      expect(output.map(shape)).toEqual([
        "mcp_list_tools",
        "message completed",
        "mcp_call completed",
        "mcp_call failed",
        "message completed",
      ]);
      const [list, first, called, failed, last] = output as any;
      expect(list).toMatchObject({ server_label: "sky", tools: [{ name: "weather", input_schema: SCHEMA }, {}] });
      expect([first.content[0].text, last.content[0].text]).toEqual(["I look.", "It is warm."]);
      expect(called).toMatchObject({
        server_label: "sky",
        name: "weather",
        arguments: '{"city":"Paris"}',
        output: "Paris is warm",
        error: null,
        approval_request_id: null,
      });
      const error = { type: "mcp_tool_execution_error", content: [{ type: "text", text: "Error: no such day" }] };
      expect(failed).toMatchObject({ name: "broken", output: null, error });
      expect(new Set(output.map(({ id }) => id)).size).toBe(5);
    }
  });

  test("[d12.5] have every event of the form, one item after another", async () => {
    const events = eventsOf(await (await stageOf(ROUNDS).call(RESPONSES, { ...BODY, stream: true })).text());
    const of = (at: number) =>
      events.filter(({ output_index: index }) => index === at).map(({ type }) => type.replace("response.", ""));
    expect(of(0)).toEqual([
      "output_item.added",
      "mcp_list_tools.in_progress",
      "mcp_list_tools.completed",
      "output_item.done",
    ]);
    const call = (end: string) => [
      "output_item.added",
      "mcp_call.in_progress",
      "mcp_call_arguments.delta",
      "mcp_call_arguments.done",
      `mcp_call.${end}`,
      "output_item.done",
    ];
    expect([of(2), of(3)]).toEqual([call("completed"), call("failed")]);
    const indexes = events.flatMap(({ output_index: index }) => (typeof index === "number" ? [index] : []));
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
  });

  test("[d12.4] go back to the model with their results, and are not listed twice", async () => {
    const [output] = await outputs(ROUNDS, BODY);
    const stage = stageOf([{}, {}, { text: "Yes." }]);
    const input = [ASKED, ...output!, { role: "user", content: "Sure?" }];
    const response = await stage.call(RESPONSES, { ...BODY, input });
    const sent = JSON.parse(stage.sent[0]!.body).messages as any[];
    // each call is a turn of its own, because nothing says which of them were made at once
    const roles = ["user", "assistant", "tool", "assistant", "tool", "assistant", "user"];
    expect(sent.map(({ role }) => role)).toEqual(roles);
    expect([sent[1], sent[3]].map(({ tool_calls: calls }: any) => calls[0].function)).toEqual([
      { name: "sky__weather", arguments: '{"city":"Paris"}' },
      { name: "sky__broken", arguments: "{}" },
    ]);
    expect([sent[1].content, sent[2].content, sent[4].content, sent[5].content]).toEqual([
      "I look.",
      "Paris is warm",
      "Error: no such day",
      "It is warm.",
    ]);
    expect(((await response.json()) as any).output.map(shape)).toEqual(["message completed"]);
  });

  test("[d12.4] wait for an approval, run when it comes, and are told with the answer", async () => {
    const asking = { ...BODY, tools: [{ ...MCP, require_approval: "always" }] };
    for (const first of await outputs([{ calls: [weather] }], asking)) {
      const [, request] = first as any;
      expect(request).toMatchObject({ type: "mcp_approval_request", server_label: "sky", name: "weather" });
      const answer = { type: "mcp_approval_response", approval_request_id: request.id, approve: true };
      const approved = { ...asking, input: [ASKED, ...first, answer] };
      for (const second of await outputs([{}, { text: "It is warm." }], approved)) {
        expect(second.map(shape)).toEqual(["mcp_call completed", "message completed"]);
        expect(second[0]).toMatchObject({ approval_request_id: request.id, output: "Paris is warm" });
        const stage = stageOf([{}, { text: "Yes." }]);
        const input = [...approved.input, ...second, { role: "user", content: "Sure?" }];
        expect((await stage.call(RESPONSES, { ...asking, input })).status).toBe(200);
        const sent = JSON.parse(stage.sent[0]!.body).messages as any[];
        expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
        expect(sent[2]).toMatchObject({ tool_call_id: request.id, content: "Paris is warm" });
      }
      const denied = { ...asking, input: [ASKED, ...first, { ...answer, approve: false, reason: "No." }] };
      const stage = stageOf([{}, { text: "Then not." }]);
      expect((await stage.call(RESPONSES, denied)).status).toBe(200);
      expect(JSON.parse(stage.sent[0]!.body).messages.at(-1).content).toBe("The user did not approve this call: No.");
      const unanswered = await stageOf([{}]).call(RESPONSES, { ...asking, input: [ASKED, ...first] });
      expect(unanswered.status).toBe(400);
    }
  });
});
