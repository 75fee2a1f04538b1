// Conversations of coding agents, made in the shapes in which they send them: a request for each step, with all that was said
// before, a tool that the model has called, and what the tool answered. Which members and headers they send is from
// docs/prompt-cache.md and the recorded exchanges of test/traffic.

type Body = Readonly<Record<string, unknown>>;

export interface Agent {
  readonly name: string;
  /** The path of the operation, behind `/api/v1`. */
  readonly path: string;
  readonly vendor: "claude" | "openai";
  headersOf(session: string): Readonly<Record<string, string>>;
  /** The request of a step, counted from 1. */
  bodyOf(session: string, step: number): Body;
}

const SYSTEM = `You are a coding agent. ${"Read before you write, and run the tests after each change. ".repeat(80)}`;
const TOOL_NAMES = ["read_file", "write_file", "run_command", "search"] as const;
const describedAs = (name: string): string =>
  `${name}: ${"takes a path that is relative to the workspace. ".repeat(15)}`;
const SCHEMA = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const MARK = { cache_control: { type: "ephemeral" } };

interface Step {
  readonly id: string;
  readonly text: string;
  readonly path: string;
  readonly result: string;
}

const taskOf = (session: string): string => `Mend the failing test of session ${session}.`;
/** What has happened before a step. */
const stepsBefore = (session: string, step: number): readonly Step[] =>
  Array.from({ length: step - 1 }, (_, at) => ({
    id: `call_${at + 1}`,
    text: `Step ${at + 1}: I look at the next file.`,
    path: `src/${session}/${at + 1}.ts`,
    result: `export const value${at + 1} = ${at + 1}; // of session ${session}\n`.repeat(20),
  }));

/** Claude Code, which sets its own marks: at the system text, and at the newest block. */
function messagesBody(session: string, step: number): Body {
  const messages: Body[] = [
    { role: "user", content: [{ type: "text", text: taskOf(session) }] },
    ...stepsBefore(session, step).flatMap(({ id, text, path, result }) => [
      {
        role: "assistant",
        content: [
          { type: "text", text },
          { type: "tool_use", id, name: "read_file", input: { path } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
    ]),
  ];
  const last = messages.at(-1)!;
  const marked = (last["content"] as readonly Body[]).map((block) => ({ ...block, ...MARK }));
  return {
    max_tokens: 1024,
    system: [{ type: "text", text: SYSTEM, ...MARK }],
    tools: TOOL_NAMES.map((name) => ({ name, description: describedAs(name), input_schema: SCHEMA })),
    messages: [...messages.slice(0, -1), { ...last, content: marked }],
  };
}

/** Agents that speak chat completions and know nothing of marks. */
function chatBody(session: string, step: number): Body {
  return {
    max_tokens: 1024,
    tools: TOOL_NAMES.map((name) => ({
      type: "function",
      function: { name, description: describedAs(name), parameters: SCHEMA },
    })),
    messages: [
      { role: "system", content: SYSTEM },
      { role: "user", content: taskOf(session) },
      ...stepsBefore(session, step).flatMap(({ id, text, path, result }) => [
        {
          role: "assistant",
          content: text,
          tool_calls: [{ id, type: "function", function: { name: "read_file", arguments: JSON.stringify({ path }) } }],
        },
        { role: "tool", tool_call_id: id, content: result },
      ]),
    ],
  };
}

/** Codex, which has nothing stored and sends all items again. */
function responsesBody(session: string, step: number): Body {
  return {
    instructions: SYSTEM,
    store: false,
    prompt_cache_key: session,
    tools: TOOL_NAMES.map((name) => ({
      type: "function",
      name,
      description: describedAs(name),
      parameters: SCHEMA,
      strict: false,
    })),
    input: [
      { type: "message", role: "user", content: [{ type: "input_text", text: taskOf(session) }] },
      ...stepsBefore(session, step).flatMap(({ id, text, path, result }) => [
        { type: "message", role: "assistant", content: [{ type: "output_text", text }] },
        { type: "function_call", call_id: id, name: "read_file", arguments: JSON.stringify({ path }) },
        { type: "function_call_output", call_id: id, output: result },
      ]),
    ],
  };
}

export const AGENTS: readonly Agent[] = [
  {
    name: "Claude Code",
    path: "/messages",
    vendor: "claude",
    headersOf: (session) => ({ "x-claude-code-session-id": session, "anthropic-version": "2023-06-01" }),
    bodyOf: messagesBody,
  },
  {
    name: "Cline",
    path: "/chat/completions",
    vendor: "claude",
    headersOf: (session) => ({ "x-task-id": session }),
    bodyOf: chatBody,
  },
  {
    name: "opencode",
    path: "/chat/completions",
    vendor: "claude",
    headersOf: (session) => ({ "x-session-affinity": session }),
    bodyOf: chatBody,
  },
  {
    name: "Codex",
    path: "/responses",
    vendor: "openai",
    headersOf: (session) => ({ "session-id": session }),
    bodyOf: responsesBody,
  },
  {
    name: "Kilo Code",
    path: "/chat/completions",
    vendor: "openai",
    headersOf: (session) => ({ "x-kilocode-taskid": session }),
    bodyOf: chatBody,
  },
];
