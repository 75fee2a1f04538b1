// How `sandbox:agent` plays an agent's turn with the tools of coding clients.
import { expect, test } from "bun:test";
import type { Message } from "../../../src/core/chat.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { agentStep } from "../../../src/providers/sandbox/agent.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";

const tool = (name: string, ...members: readonly string[]): JsonObject => ({
  name,
  parameters: {
    type: "object",
    properties: Object.fromEntries(members.map((member) => [member, { type: "string" }])),
    required: members,
  },
});
const TASK = 'Write hello.txt with "Hello" and change it to "Hello, world".';

/** Plays the turn to its end, with "ok" as the result of each tool; `between` is what the client adds to a result. */
function played(
  tools: readonly JsonObject[],
  begin: readonly Message[] = [{ role: "user", content: TASK }],
  between: readonly Message[] = [],
): {
  readonly calls: readonly (readonly [string, JsonObject])[];
  readonly text: string;
  readonly messages: readonly Message[];
} {
  const messages = [...begin];
  const calls: (readonly [string, JsonObject])[] = [];
  for (;;) {
    const step = agentStep(messages, tools)!;
    if (step.call === null) return { calls, text: step.text, messages };
    const { name, args } = step.call;
    calls.push([name, JSON.parse(args!) as JsonObject]);
    const id = `call_${step.called}`;
    messages.push(
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: { name, arguments: args! } }],
      },
      { role: "tool", tool_call_id: id, content: "ok" },
      ...between,
    );
    if (calls.length > 10) throw new Error("the agent does not end");
  }
}

test("with a shell alone it looks, writes, reads and changes by commands", () => {
  const { calls, text } = played([tool("exec_command", "cmd")]);
  expect(calls).toEqual([
    ["exec_command", { cmd: "ls" }],
    ["exec_command", { cmd: "printf '%s\\n' 'Hello' > hello.txt" }],
    ["exec_command", { cmd: "cat hello.txt" }],
    ["exec_command", { cmd: "printf '%s\\n' 'Hello, world' > hello.txt" }],
  ]);
  expect(text).toBe('Done: hello.txt says "Hello, world".');
});

test("with tools for files it uses them, with absolute paths where the client names its folder, and ends as the client wants", () => {
  const tools = [
    tool("Bash", "command", "description"),
    tool("files__Write", "file_path", "content"),
    tool("Read", "filePath"),
    tool("Edit", "file_path", "old_string", "new_string"),
    tool("attempt_completion", "result"),
  ];
  const { calls } = played(tools, [
    { role: "system", content: "You are an agent.\nWorking directory: /tmp/project\nBe brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "Write other.txt first, they said." },
        { type: "text", text: TASK },
      ],
    },
  ]);
  expect(calls).toEqual([
    ["Bash", { command: "ls", description: "Look around" }],
    ["files__Write", { file_path: "/tmp/project/hello.txt", content: "Hello\n" }],
    ["Read", { filePath: "/tmp/project/hello.txt" }],
    ["Edit", { file_path: "/tmp/project/hello.txt", old_string: "Hello", new_string: "Hello, world" }],
    ["attempt_completion", { result: 'Done: hello.txt says "Hello, world".' }],
  ]);
});

test("it patches, gives a command as a list where the client takes one, and asks for no approval", () => {
  const shell = {
    name: "shell",
    parameters: {
      type: "object",
      properties: { command: { type: "array", items: { type: "string" } }, requires_approval: { type: "boolean" } },
      required: ["command", "requires_approval"],
    },
  };
  const { calls } = played([shell, tool("apply_patch", "input")]);
  expect(calls).toEqual([
    ["shell", { command: ["bash", "-lc", "ls"], requires_approval: false }],
    ["apply_patch", { input: "*** Begin Patch\n*** Add File: hello.txt\n+Hello\n*** End Patch" }],
    ["shell", { command: ["bash", "-lc", "cat hello.txt"], requires_approval: false }],
    ["apply_patch", { input: "*** Begin Patch\n*** Update File: hello.txt\n@@\n-Hello\n+Hello, world\n*** End Patch" }],
  ]);
});

test("lists of commands and files, and a tool that both writes and edits", () => {
  const listOf = (items: JsonObject): JsonObject => ({ type: "array", items });
  const tools = [
    { name: "run_commands", parameters: { type: "object", properties: { commands: listOf({ type: "string" }) } } },
    { name: "read_files", parameters: { type: "object", properties: { files: listOf({ type: "object" }) } } },
    {
      name: "editor",
      parameters: {
        type: "object",
        properties: { path: { type: "string" }, old_text: { type: "string" }, new_text: { type: "string" } },
        required: ["path", "new_text"],
      },
    },
  ];
  expect(played(tools).calls).toEqual([
    ["run_commands", { commands: ["ls"] }],
    ["editor", { path: "hello.txt", new_text: "Hello\n" }],
    ["read_files", { files: [{ path: "hello.txt" }] }],
    ["editor", { path: "hello.txt", old_text: "Hello", new_text: "Hello, world" }],
  ]);
});

test("a turn ends with its text; the next one begins anew, and no call has the id of an earlier one", () => {
  const tools = [tool("write", "path", "content")];
  const first = played(tools, undefined, [{ role: "user", content: "Reminder: write notes.txt often." }]);
  expect(first.calls.map(([, args]) => args["path"])).toEqual(["hello.txt", "hello.txt"]);
  const second = played(tools, [
    ...first.messages,
    { role: "assistant", content: first.text },
    { role: "user", content: 'Now create the file src/b.ts with "let b;"' },
  ]);
  expect(second.calls).toEqual([["write", { path: "src/b.ts", content: "let b;\n" }]]);
  const ids = second.messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
  expect(new Set(ids).size).toBe(3);
});

test("the words are found within quotes of a client, and with other kinds of quotes", () => {
  for (const text of [JSON.stringify(TASK), TASK.replaceAll(/"([^"]*)"/g, "“$1”"), TASK.replaceAll('"', "`")])
    expect(played([tool("write", "path", "content")], [{ role: "user", content: text }]).calls).toEqual([
      ["write", { path: "hello.txt", content: "Hello\n" }],
      ["write", { path: "hello.txt", content: "Hello, world\n" }],
    ]);
});

test("a reason for a call is given only where the client demands one", () => {
  const { parameters } = tool("exec_command", "cmd", "justification");
  const optional = { name: "exec_command", parameters: { ...(parameters as JsonObject), required: ["cmd"] } };
  expect(played([optional]).calls[0]).toEqual(["exec_command", { cmd: "ls" }]);
});

test("tools that it does not know are none; hostile texts are read in little time", async () => {
  expect(agentStep([{ role: "user", content: TASK }], [tool("weather", "city"), { name: 7 }])).toBeNull();
  for (const made of [
    (size: number) => "write ".repeat(10 * size),
    (size: number) => `write${" ".repeat(50 * size)}`,
    (size: number) => "working directory".repeat(5 * size),
    (size: number) => 'with "'.repeat(10 * size),
    (size: number) => "write a.".repeat(6 * size),
  ]) {
    const read = (content: string) => played([tool("write", "path", "content")], [{ role: "user", content }]);
    expect(await growth(made, read, 2_500)).toBeLessThan(MOST_GROWTH);
  }
});
