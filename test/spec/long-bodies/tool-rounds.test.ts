// Rounds of tools after a long conversation (promises 5.8, 10.2): another thread holds it, and writes what the rounds
// append. Every request of every round, the answer and the record are the same as with one thread.
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { cannedUpstream, type StubOptions } from "../../harness/in-process.ts";
import { answerOf, roundOf, type ScriptedRound } from "../tools/scripted-rounds.ts";
import { type Seen, seen, sentFrom } from "../seen-call.ts";

const thread = openLongBodyThread(longBodyProgram());
const longRequests = openLongRequests(thread);
afterAll(() => thread.close());

const MAIL = "ada@mail.example.org";
const LONG = "The quick brown fox jumps over the lazy dog. ".repeat(Math.ceil(LONG_BODY_BYTES / 44));
const PICTURE = { kind: "image", mediaType: "image/png", base64: "iVBORw0KGgo=" } as const;
const tools = () =>
  fakeToolServers({
    sky: {
      weather: { run: ({ city }) => says(`Warm in ${city as string}. Ask ${MAIL}.`) },
      look: { run: () => ({ ...says("A picture."), parts: [{ kind: "text", text: "A picture." }, PICTURE] }) },
    },
  });
const MCP = { type: "mcp", server_label: "sky", require_approval: "never" };
const ROUNDS: readonly ScriptedRound[] = [
  {
    text: "Let me see.",
    calls: [{ name: "sky__weather", args: '{"city":"Paris","n":12345678901234567890}' }, { name: "sky__look" }],
  },
  { calls: [{ name: "sky__weather", args: '{"city":"Oslo"}' }] },
  { text: "It is warm." },
];

const textOf = ({ body, bytes }: UpstreamRequest): string =>
  bytes === undefined ? body : Buffer.from(bytes).toString("utf8");
const model = cannedUpstream((request) => {
  const body = textOf(request);
  const round = roundOf({ body });
  return answerOf(ROUNDS[Math.min(round, ROUNDS.length - 1)]!, round, body.includes('"stream":true'));
});

/** Tools of one round run at once, and may end in any order: events about tools that follow each other are sorted. */
const ACTIVITIES = /(?:data: \{[^\n]*"x_gateway_mcp":\{"type":[^\n]*\n\n)+/g;

/** Without what depends on how long something took. */
const timeless = (one: Seen): Seen => ({
  ...one,
  text: one.text
    .replaceAll(/"duration_ms":[\d.]+/g, "")
    .replaceAll(ACTIVITIES, (events) => events.trimEnd().split("\n\n").toSorted().join("\n\n") + "\n\n"),
});

async function compared(body: object, options: StubOptions = {}): Promise<Seen> {
  const text = JSON.stringify(body);
  expect(text.length).toBeGreaterThan(LONG_BODY_BYTES);
  const [here, there] = await Promise.all(
    [null, longRequests].map(async (held) =>
      timeless(await seen(text, held, { upstream: model, tools: tools(), ...options })),
    ),
  );
  expect(there).toEqual(sentFrom(here!, there!));
  return there!;
}

const ask = (more: object = {}): object => ({
  model: "custom:m",
  messages: [
    { role: "system", content: LONG },
    { role: "user", content: `Is it warm? Tell ${MAIL}.` },
  ],
  tools: [MCP],
  ...more,
});

describe("tools of a tool server behind a long conversation", () => {
  for (const stream of [false, true]) {
    test(`[d5.8] [d10.2] each round's request is the same as with one thread (stream: ${stream})`, async () => {
      const { status, sent } = await compared(ask({ stream }));
      expect([status, sent.length]).toEqual([200, 3]);
      expect(sent[2]!.body).toContain("Warm in Oslo.");
      expect(sent[1]!.body).toContain("data:image/png;base64,iVBORw0KGgo=");
    });
  }

  test("[d5.8] [d10.2] for a model that takes no images, images of tools are left out", async () => {
    const { sent } = await compared(ask({ model: "deepseek:deepseek-chat" }));
    expect(sent).toHaveLength(3);
    expect(sent[2]!.body).toContain("Warm in Oslo.");
    expect(sent[2]!.body).not.toContain("iVBORw0KGgo=");
  });

  test("[d5.8] [d10.2] text and calls of a turn keep the order in which the model has written them", async () => {
    const asked = (city: string): object => ({
      functionCall: { id: `in ${city}`, name: "sky__weather", args: { city } },
    });
    const turn = [asked("Paris"), { text: "And in the north:" }, asked("Oslo")];
    const upstream = cannedUpstream((request) => {
      const parts = textOf(request).includes("functionResponse") ? [{ text: "It is warm." }] : turn;
      return { body: JSON.stringify({ candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] }) };
    });
    const { sent } = await compared(ask({ model: "gemini:gemini-2.5-pro" }), { upstream });
    expect(sent).toHaveLength(2);
    expect(JSON.parse(sent[1]!.body).contents.at(-2)).toMatchObject({ role: "model", parts: turn });
  });

  test("[d3.3] [d5.8] guards mask the conversation, and what the rounds append to it", async () => {
    const policies = policiesFor({ name: "mail", guard: { on: "input", classes: ["email"], action: "mask" } });
    const { sent } = await compared(ask(), { snapshot: { policies } });
    expect(sent).toHaveLength(3);
    for (const { body } of sent) expect(body).not.toContain(MAIL);
    expect(sent[2]!.body).toContain("Ask [email].");
  });

  test("[d5.8] [d10.3] turns that the client brings back are put in their places, with images and without", async () => {
    const turns = [
      { role: "assistant", content: null, tool_calls: [call("a", "look")] },
      { role: "tool", tool_call_id: "a", content: "A picture." },
      {
        role: "user",
        content: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }],
      },
    ];
    const messages = [
      { role: "user", content: LONG },
      { role: "assistant", content: "A cat.", x_gateway_mcp: { replay: turns } },
      { role: "user", content: "And now?" },
    ];
    for (const [name, hasImages] of [
      ["custom:m", true],
      ["deepseek:deepseek-chat", false],
    ] as const)
      for (const more of [{}, { tools: [MCP] }]) {
        const { status, sent } = await compared({ model: name, messages, ...more });
        expect([name, status, sent[0]!.body.includes("iVBORw0KGgo=")]).toEqual([
          name,
          200,
          hasImages && "tools" in more,
        ]);
      }
  });

  /** A turn whose picture was seen, whose weather waits for the gateway, and whose own function the client has run. */
  const waiting = (own: object): readonly object[] => [
    { role: "user", content: LONG },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        call("b", "weather", '{"city":"Rome","n":12345678901234567890}'),
        { id: "c", type: "function", function: { name: "mine", arguments: "{}" } },
      ],
      ...own,
    },
    { role: "tool", tool_call_id: "c", content: "Mine." },
  ];
  const PLAYED = {
    x_gateway_mcp: {
      replay: [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            call("a", "look"),
            call("b", "weather", '{"city":"Rome","n":12345678901234567890}'),
            { id: "c", type: "function", function: { name: "mine", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "a", content: "A picture." },
        {
          role: "user",
          content: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }],
        },
      ],
    },
  };
  const MINE = { type: "function", function: { name: "mine" } };
  for (const [where, own] of [
    ["without images of earlier results", {}],
    ["before images of earlier results", PLAYED],
  ] as const)
    for (const name of ["custom:m", "deepseek:deepseek-chat"])
      test(`[d5.8] [d10.3] calls at its end that the client approves run before the first round, ${where} (${name})`, async () => {
        const { status, sent } = await compared({ model: name, messages: waiting(own), tools: [MCP, MINE] });
        expect(status).toBe(200);
        expect(sent[0]!.body).toContain("Warm in Rome.");
        const roles = (
          JSON.parse(sent[0]!.body) as { readonly messages: readonly { readonly role: string }[] }
        ).messages
          .map(({ role }) => role)
          .join(" ");
        const images = own === PLAYED && name === "custom:m" ? " user" : "";
        expect(roles).toBe(`user assistant tool tool${own === PLAYED ? " tool" : ""}${images}`);
      });

  test("[d5.8] [d10.3] a call at its end that waits for approval is refused with its path", async () => {
    const body = { model: "custom:m", messages: waiting({}), tools: [{ ...MCP, require_approval: "always" }, MINE] };
    const { status, text } = await compared(body);
    expect([status, text]).toEqual([400, expect.stringContaining("messages[1].tool_calls[0] waits for approval")]);
  });

  test("[d5.8] calls at its end that are too long for the main thread are refused with their path", async () => {
    const messages = [
      { role: "user", content: "Hello" },
      {
        role: "assistant",
        content: null,
        tool_calls: [call("a", "weather", JSON.stringify({ city: "x".repeat(2e6) }))],
      },
    ];
    const { status, text } = await seen(JSON.stringify({ model: "custom:m", messages, tools: [MCP] }), longRequests, {
      upstream: model,
      tools: tools(),
    });
    expect([status, text]).toEqual([400, expect.stringContaining('"param":"messages[1].tool_calls"')]);
  });
});

function call(id: string, tool: string, args = "{}"): object {
  return { id, type: "function", function: { name: `sky__${tool}`, arguments: args } };
}
