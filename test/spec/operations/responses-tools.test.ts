// Tool servers in responses: their tools, their calls with the results, and approvals are items with all their events,
// and go back to the model when the client sends them back (promises 12.2 to 12.5).
import { describe, expect, test } from "bun:test";
import { offeredNames } from "../../../src/engine/tools/offered-tools.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { cannedUpstream, type CannedAnswer, type Stub, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { eventsOf } from "../../operations/responses/responses-calls.ts";
import { type ScriptedRound, scriptedModel } from "../tools/scripted-rounds.ts";

const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const servers = () =>
  fakeToolServers({
    sky: {
      weather: { inputSchema: SCHEMA, run: ({ city }: Record<string, any>) => says(`${city} is warm`) },
      broken: { run: () => says("no such day", true) },
    },
  });

type Served = Parameters<typeof fakeToolServers>[0];

function stageOf(rounds: readonly ScriptedRound[], served?: Served): Stub {
  const providers = [
    providerSettings({ id: "up", family: "custom", baseUrl: "http://up.test/v1", credentials: [storedKey("key")] }),
  ];
  return stubGateway({
    upstream: scriptedModel(rounds),
    providers,
    tools: served === undefined ? servers() : fakeToolServers(served),
  });
}

const text = (said: string) => ({ type: "text", text: said });
const thinking = (thought: string) => ({ type: "thinking", thinking: thought, signature: `signature of ${thought}` });
const use = (name: string) => ({ type: "tool_use", id: "toolu_1", name: `sky__${name}` });

/** An answer of Anthropic's with these blocks. */
function claudeAnswer(content: readonly Record<string, any>[], stream: boolean): CannedAnswer {
  const reason = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content,
    stop_reason: reason,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  if (!stream) return { headers: { "content-type": "application/json" }, body: JSON.stringify(message) };
  const events = [
    { type: "message_start", message: { ...message, content: [], stop_reason: null } },
    ...content.flatMap((block, index) => {
      const delta = (of: object) => ({ type: "content_block_delta", index, delta: of });
      const { text: said, thinking: thought, signature, input } = block;
      return [
        {
          type: "content_block_start",
          index,
          content_block: {
            ...block,
            ...(said && { text: "" }),
            ...(thought && { thinking: "", signature: "" }),
            ...(input && { input: {} }),
          },
        },
        ...(said ? [delta({ type: "text_delta", text: said })] : []),
        ...(thought
          ? [delta({ type: "thinking_delta", thinking: thought }), delta({ type: "signature_delta", signature })]
          : []),
        ...(input ? [delta({ type: "input_json_delta", partial_json: JSON.stringify(input) })] : []),
        { type: "content_block_stop", index },
      ];
    }),
    { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ];
  const written = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return { headers: { "content-type": "text/event-stream" }, body: written.join("") };
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
async function outputs(
  rounds: readonly ScriptedRound[],
  body: object,
  served?: Served,
): Promise<readonly Record<string, any>[][]> {
  const plain = await stageOf(rounds, served).call(RESPONSES, body);
  const { output, error } = (await plain.json()) as any;
  expect(error).toBeNull();
  const events = eventsOf(await (await stageOf(rounds, served).call(RESPONSES, { ...body, stream: true })).text());
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

  test("[d12.4 d12.5] reasoning, texts and calls of each round stand in the order of generation, plain and streamed alike", async () => {
    const turns = [
      [
        thinking("One."),
        text("I look."),
        thinking("Two."),
        text("Again."),
        { ...use("weather"), input: { city: "Oslo" } },
      ],
      [thinking("Three."), text("It is"), thinking("Four."), text(" warm.")],
    ];
    const upstream = cannedUpstream(({ body }) => {
      const { messages, stream } = JSON.parse(body) as Record<string, any>;
      return claudeAnswer(turns[messages.length > 1 ? 1 : 0]!, stream === true);
    });
    const providers = [providerSettings({ id: "anthropic", credentials: [storedKey("key")] })];
    const body = { ...BODY, model: "anthropic:claude-opus-4-6", reasoning: { effort: "low" } };
    for (const stream of [false, true]) {
      const answer = await stubGateway({ upstream, providers, tools: servers() }).call(RESPONSES, { ...body, stream });
      const { output } = stream ? eventsOf(await answer.text()).at(-1)!["response"] : ((await answer.json()) as any);
      expect(output.slice(1).map(({ summary, content, name }: any) => name ?? (summary ?? content)[0].text)).toEqual([
        "One.",
        "I look.",
        "Two.",
        "Again.",
        "weather",
        "Three.",
        "It is",
        "Four.",
        " warm.",
      ]);
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
    const stage = stageOf([{}, { text: "Yes." }]);
    const input = [ASKED, ...output!, { role: "user", content: "Sure?" }];
    const response = await stage.call(RESPONSES, { ...BODY, input });
    const sent = JSON.parse(stage.sent[0]!.body).messages as any[];
    // both were made at once
    expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "assistant", "user"]);
    expect(sent[1].tool_calls.map(({ function: called }: any) => called)).toEqual([
      { name: "sky__weather", arguments: '{"city":"Paris"}' },
      { name: "sky__broken", arguments: "{}" },
    ]);
    expect(sent[1].tool_calls.map(({ id }: any) => id)).toEqual([sent[2].tool_call_id, sent[3].tool_call_id]);
    expect([sent[1].content, sent[2].content, sent[3].content, sent[4].content]).toEqual([
      "I look.",
      "Paris is warm",
      "Error: no such day",
      "It is warm.",
    ]);
    expect(((await response.json()) as any).output.map(shape)).toEqual(["message completed"]);
  });

  test("[d12.4] calls of one round stay together when they come back, and those of several rounds stay apart", async () => {
    const rounds = [{ calls: [weather, weather] }, { calls: [weather] }, { calls: [weather, weather, weather] }];
    for (const output of await outputs([...rounds, { text: "It is warm." }], BODY)) {
      const stage = stageOf([{ text: "Yes." }]);
      const input = [ASKED, ...output, { role: "user", content: "Sure?" }];
      expect((await stage.call(RESPONSES, { ...BODY, input })).status).toBe(200);
      const sent = JSON.parse(stage.sent[0]!.body).messages as any[];
      const calls = sent.flatMap(({ tool_calls: made }) => (made === undefined ? [] : [made.length]));
      expect(calls).toEqual([2, 1, 3]);
      // a provider knows its calls by the ids that it gave them
      const ids = sent.flatMap(({ tool_calls: made = [] }) => made.map(({ id }: any) => id));
      expect(ids.join()).not.toContain("together");
      expect(sent.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(ids);
    }
  });

  test("[d12.4] max_tool_calls bounds those of all rounds: the others fail, and the model answers without tools", async () => {
    const limited = { ...BODY, max_tool_calls: 3 };
    const rounds = [{ calls: [weather, weather] }, { calls: [weather, weather] }, { text: "It is warm." }];
    for (const output of await outputs(rounds, limited)) {
      const calls = output.filter(({ type }) => type === "mcp_call");
      expect(calls.map(({ status }) => status)).toEqual(["completed", "completed", "completed", "failed"]);
      expect(JSON.stringify(calls[3]!["error"])).toContain("the maximum number of tool calls was reached");
      expect(output.at(-1)!["content"][0].text).toBe("It is warm.");
    }
    const stage = stageOf(rounds);
    const response: any = await (await stage.call(RESPONSES, limited)).json();
    expect([response.status, response.max_tool_calls]).toEqual(["completed", 3]);
    expect(stage.sent.map(({ body }) => JSON.parse(body).tool_choice)).toEqual([undefined, undefined, "none"]);
    const stubborn: any = await (await stageOf([rounds[0]!, rounds[1]!, rounds[0]!]).call(RESPONSES, limited)).json();
    expect(stubborn.status).toBe("incomplete");
    const free: any = await (await stageOf([...rounds]).call(RESPONSES, BODY)).json();
    expect(JSON.stringify(free.output)).not.toContain('"failed"');
  });

  test("[d12.4 d12.5] have what goes back to the model and how they ended, plain and streamed alike", async () => {
    const rounds: readonly ScriptedRound[] = [
      { text: "I look.", calls: [{ name: "sky__weather", args: "{city" }] },
      { text: "\n\nAgain.", calls: [weather] },
      { calls: [{ name: "sky__broken" }] },
      { calls: [weather] },
    ];
    const cut = async (count: number): Promise<readonly Record<string, any>[][]> =>
      (await outputs(rounds, { ...BODY, x_gateway: { max_tool_rounds: count } })).map((output) => output.slice(1));
    for (const output of await cut(2)) {
      expect(output.map(shape)).toEqual(["message completed", "mcp_call failed", "message incomplete"]);
      expect(JSON.parse(output[1]!["arguments"] as string)).toEqual({ INVALID_JSON: "{city" });
      expect(output[2]!["content"][0].text).toBe("\n\nAgain.");
    }
    // the answer is incomplete, and the call before its end is not
    for (const output of await cut(3)) expect(shape(output.at(-1)!)).toBe("mcp_call completed");
    for (const output of await cut(4)) expect(shape(output.at(-1)!)).toBe("mcp_call failed");
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

  test("[d12.4 d10.3] that wait for an approval, and that the request neither lets run nor answers, are refused with their path", async () => {
    const asking = { ...BODY, tools: [{ ...MCP, require_approval: "always" }] };
    const { tools: _tools, ...alone } = asking;
    const [first] = (await outputs([{ calls: [weather] }], asking)) as any;
    const id = first[1].id as string;
    const answer = (approve: boolean) => ({ type: "mcp_approval_response", approval_request_id: id, approve });
    const refused = async (input: readonly object[], body: object = asking): Promise<string> => {
      const stage = stageOf([{}]);
      const response = await stage.call(RESPONSES, { ...body, input: [ASKED, ...input] });
      expect([response.status, stage.sent.length]).toEqual([400, 0]);
      const { error } = (await response.json()) as { error: { param: string; message: string } };
      return `${error.param}: ${error.message}`;
    };
    const late = { role: "user", content: "Never mind." };
    // without its server, and with something behind it, an approved call would not run
    expect(await refused([...first, answer(true)], alone)).toMatch(
      /^input\[3\]\.approval_request_id: .*Name the server/,
    );
    expect(await refused([...first, answer(true), late])).toMatch(/^input\[2\]\.call_id: .*mcp_approval_response/);
    expect(await refused([...first, late])).toMatch(/^input\[2\]\.call_id: .*mcp_approval_response/);
    expect(await refused([...first], alone)).toMatch(/^input\[2\]\.call_id: .*mcp_approval_response/);
    expect(await refused([...first, answer(false), answer(true)])).toMatch(
      /^input\[4\]\.approval_request_id: .*already/,
    );
    expect(await refused([answer(true)])).toMatch(/^input\[1\]\.approval_request_id: .*names no call/);
    expect(await refused([answer(false)])).toMatch(/^input\[1\]\.approval_request_id: .*names no call/);
    const denied = { ...alone, input: [ASKED, ...first, answer(false), late] };
    expect((await stageOf([{}, { text: "Yes." }]).call(RESPONSES, denied)).status).toBe(200);
  });

  test("[d12.4 d10.3] name the server and the tool as they are listed, also where labels and names run into each other, and run that tool", async () => {
    const both = {
      a: { b__c: { run: () => says("b__c of a") }, "odd name": { run: () => says("odd name of a") } },
      a__b: { c: { run: () => says("c of a__b") }, d: { run: () => says("d of a__b") } },
    };
    const places = Object.entries(both).flatMap(([label, tools]) =>
      Object.keys(tools).map((tool) => ({ label, tool })),
    );
    const rounds = [{ calls: [...offeredNames(places).values()].map((name) => ({ name })) }, { text: "Done." }];
    const asking = (labels: readonly string[]) => ({
      ...BODY,
      tools: labels.map((label) => ({ ...MCP, server_label: label, require_approval: "always" })),
    });
    for (const first of await outputs(rounds, asking(["a", "a__b"]), both)) {
      const requests = first.filter(({ type }) => type === "mcp_approval_request");
      expect(requests.map(({ server_label: label, name: tool }) => ({ label, tool }))).toEqual(places);
      const approvals = requests.map(({ id }) => ({
        type: "mcp_approval_response",
        approval_request_id: id,
        approve: true,
      }));
      const input = [ASKED, ...first, ...approvals];
      const [second] = await outputs(rounds, { ...asking(["a", "a__b"]), input }, both);
      expect(second!.slice(0, -1).map(({ output }) => output)).toEqual(
        places.map(({ label, tool }) => `${tool} of ${label}`),
      );
      // what was approved for one server is not run at another one
      const [alone] = await outputs(rounds, { ...asking(["a"]), input }, both);
      expect(alone!.slice(0, 4).map(({ output, error }) => output ?? error.content[0].text)).toEqual([
        "b__c of a",
        "odd name of a",
        expect.stringContaining("Unknown tool"),
        expect.stringContaining("Unknown tool"),
      ]);
    }
  });

  test("[d12.4] allowed_tools bounds the tools of a server to those that it names, within those that the server's entry allows", async () => {
    const named = (name?: string) => ({ type: "mcp", server_label: "sky", ...(name !== undefined && { name }) });
    const offered = async (tools: readonly object[], allowed?: unknown): Promise<readonly string[] | number> => {
      const stage = stageOf([{ text: "Hello." }]);
      const choice = { type: "allowed_tools", mode: "auto", tools };
      const body = { ...BODY, tools: [{ ...MCP, allowed_tools: allowed }], tool_choice: choice };
      const { status } = await stage.call(RESPONSES, body);
      if (status !== 200) return status;
      const { tools: sent = [] } = JSON.parse(stage.sent[0]!.body) as { tools?: readonly Record<string, any>[] };
      return sent.map((tool) => tool["function"].name as string);
    };
    expect(await offered([named()])).toEqual(["sky__weather", "sky__broken"]);
    expect(await offered([named("weather")])).toEqual(["sky__weather"]);
    expect(await offered([named("weather"), named("broken")])).toEqual(["sky__weather", "sky__broken"]);
    expect(await offered([named("weather"), named()])).toEqual(["sky__weather", "sky__broken"]);
    expect(await offered([named("weather")], ["broken", "weather"])).toEqual(["sky__weather"]);
    expect(await offered([named("weather")], { tool_names: ["broken"] })).toEqual([]);
    expect(await offered([named("weather")], 5)).toBe(400);
  });

  test("[d12.4 d10.3] calls of the client's own functions are the client's, also where they are named like tools of a server", async () => {
    const own = { type: "function", name: "sky__mine", parameters: { type: "object", properties: {} } };
    for (const output of await outputs([{ calls: [{ name: "sky__mine" }] }], { ...BODY, tools: [MCP, own] }))
      expect(output.at(-1)).toMatchObject({ type: "function_call", name: "sky__mine", arguments: "{}" });
  });
});
