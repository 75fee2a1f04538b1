// What `sandbox:agent` does with the tools of a coding client, one step a round: it looks around, writes the file that the
// user names, reads it, changes it where that was asked, and says so. A tool is recognized by its name, an argument by
// the name of the parameter. Reading takes time in proportion to the length of the texts, whatever they contain.
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { PlannedCall } from "./planned-calls.ts";
import { sampleOf } from "./schema-sample.ts";
import { textsIn } from "./words.ts";

export interface AgentStep {
  /** The call of this step; `null` when all is done. */
  readonly call: PlannedCall | null;
  /** The number of tool calls in the whole conversation, so that no two have the same id. */
  readonly called: number;
  readonly text: string;
}

/** What the user asks for. */
interface Task {
  readonly file: string;
  readonly content: string;
  /** What the file is to say in the end; `null` when it is not to be changed. */
  readonly changed: string | null;
  /** The client's working directory; empty when it names none. */
  readonly folder: string;
}

/** Names of tools and of parameters, in small letters without any other characters. */
const TOOLS = {
  shell: [
    "bash",
    "shell",
    "shellcommand",
    "execcommand",
    "executecommand",
    "runterminalcommand",
    "runcommand",
    "runcommands",
  ],
  list: ["list", "ls", "listdir", "listfiles", "glob"],
  patch: ["applypatch"],
  write: ["write", "writetofile", "writefile", "createfile", "createnewfile", "editor"],
  read: ["read", "readfile", "viewfile", "readfiles"],
  edit: ["edit", "editfile", "strreplace", "replaceinfile", "editor"],
  finish: ["attemptcompletion"],
} as const satisfies Readonly<Record<string, readonly string[]>>;
type ToolKind = keyof typeof TOOLS;

const PARAMETERS = {
  path: ["path", "filepath", "targetfile", "filename", "file", "absolutepath", "dirpath", "directory", "files"],
  content: ["content", "contents", "filetext", "filecontent", "text"],
  command: ["command", "cmd", "commands", "script"],
  patch: ["input", "patch", "patchtext", "diff"],
  before: ["oldstring", "oldstr", "oldtext", "old"],
  after: ["newstring", "newstr", "newtext", "new"],
  pattern: ["pattern", "glob"],
  result: ["result"],
  summary: ["description", "explanation", "justification"],
} as const satisfies Readonly<Record<string, readonly string[]>>;
type Values = Partial<Readonly<Record<keyof typeof PARAMETERS, string>>>;

/** A step is done with the first of its tools that is offered, and left out when none is. */
type Step = readonly (readonly [ToolKind, Values])[];

/** `null` when the client offers no tool that the agent knows. */
export function agentStep(messages: readonly Message[], functions: readonly JsonObject[]): AgentStep | null {
  const tools = toolsIn(functions);
  if (tools.size === 0) return null;
  const begin = messages.findLastIndex((message) => message.role === "assistant" && !hasCalls(message)) + 1;
  const turn = messages.slice(begin);
  const rounds = turn.filter(hasCalls).length;
  const task = taskOf(messages, turn);
  const text = `Done: ${task.file} says ${JSON.stringify(task.changed ?? task.content)}.`;
  const calls = stepsOf(task, text).flatMap((step) => {
    const way = step.find(([kind]) => tools.has(kind));
    return way === undefined ? [] : [callOf(tools.get(way[0])!, way[1])];
  });
  const called = messages.reduce((sum, { tool_calls: made }) => sum + (made?.length ?? 0), 0);
  return { call: calls[rounds] ?? null, called, text };
}

const hasCalls = (message: Message): boolean => (message.tool_calls?.length ?? 0) > 0;

function stepsOf({ file, content, changed, folder }: Task, result: string): readonly Step[] {
  const path = folder === "" || file.startsWith("/") ? file : `${folder}/${file}`;
  const write = (text: string): Values => ({ command: `printf '%s\\n' ${quoted(text)} > ${file}` });
  const look: Step = [
    ["shell", { command: "ls", summary: "Look around" }],
    ["list", { path: folder === "" ? "." : folder, pattern: "*", summary: "Look around" }],
  ];
  const add = `*** Begin Patch\n*** Add File: ${file}\n+${content}\n*** End Patch`;
  const update = `*** Begin Patch\n*** Update File: ${file}\n@@\n-${content}\n+${changed}\n*** End Patch`;
  return [
    look,
    [
      ["patch", { patch: add }],
      ["write", { path, content: `${content}\n`, after: `${content}\n` }],
      ["shell", { ...write(content), summary: "Write the file" }],
    ],
    [
      ["read", { path, summary: "Read the file" }],
      ["shell", { command: `cat ${file}`, summary: "Read the file" }],
    ],
    changed === null
      ? []
      : [
          ["patch", { patch: update }],
          ["edit", { path, before: content, after: changed }],
          ["write", { path, content: `${changed}\n` }],
          ["shell", { ...write(changed), summary: "Change the file" }],
        ],
    [["finish", { result }]],
  ];
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const plain = (name: string): string => name.replaceAll(/[^a-z0-9]/gi, "").toLowerCase();
const MAX_NAME = 128;

function toolsIn(functions: readonly JsonObject[]): ReadonlyMap<ToolKind, JsonObject> {
  const named = new Map<string, JsonObject>();
  for (const tool of functions) {
    const { name } = tool;
    if (typeof name !== "string" || name.length > MAX_NAME) continue;
    for (const word of [name, name.slice(name.lastIndexOf("__") + 2)])
      if (!named.has(plain(word))) named.set(plain(word), tool);
  }
  const found = new Map<ToolKind, JsonObject>();
  for (const [kind, names] of Object.entries(TOOLS) as [ToolKind, readonly string[]][]) {
    const known = names.find((name) => named.has(name));
    if (known !== undefined) found.set(kind, named.get(known)!);
  }
  return found;
}

function callOf(tool: JsonObject, values: Values): PlannedCall {
  const { parameters } = tool;
  const sample = sampleOf(parameters ?? { type: "object" });
  const properties = isObject(parameters) && isObject(parameters["properties"]) ? parameters["properties"] : {};
  const args: Record<string, Json> = isObject(sample) ? { ...(sample as Record<string, Json>) } : {};
  for (const [name, schema] of Object.entries(properties)) {
    const kind = kindOf(name);
    // Codex takes an optional justification only beside another member
    const isWanted = kind !== undefined && (kind !== "summary" || Object.hasOwn(args, name));
    const value = isWanted ? values[kind] : undefined;
    if (value !== undefined) args[name] = inForm(value, kind === "command" && name !== "commands", schema);
    // a client would wait for its user
    else if (typeof args[name] === "boolean") args[name] = false;
  }
  return { name: tool["name"] as string, args: JSON.stringify(args) };
}

function kindOf(name: string): keyof Values | undefined {
  const word = plain(name.slice(0, MAX_NAME));
  return (Object.keys(PARAMETERS) as (keyof Values)[]).find((kind) =>
    (PARAMETERS[kind] as readonly string[]).includes(word),
  );
}

/** Some clients take a command as the list of its words, and lists of commands or files. */
function inForm(value: string, isCommand: boolean, schema: Json | undefined): Json {
  if (!isObject(schema) || schema["type"] !== "array") return value;
  const { items } = schema;
  if (isObject(items) && items["type"] === "object") return [{ path: value }];
  return isCommand ? ["bash", "-lc", value] : [value];
}

const MAX_TEXT = 262_144;
const MAX_CONTENT = 2000;
const FILE = /\b(?:write|create|edit|change)\s{1,4}(?:(?:a|the|file)\s{1,4}){0,2}[`"']?([\w./-]{1,200}\.\w{1,8})\b/gi;
// some clients put the user's words in quotes, and escape those within
const CONTENT = /\bwith\s{1,4}\\?["“`]([^"“”`\\\n]{1,2000})\\?["”`]/gi;
const CHANGED = /\b(?:change|edit)\s{1,4}it\s{1,4}to\s{1,4}\\?["“`]([^"“”`\\\n]{1,2000})\\?["”`]/gi;
const FOLDER = /(?:working directory|working folder|<cwd|"cwd)[^/\n]{0,40}(\/[^\s<>"'`)]{0,400})/gi;

/** The words of the user come before the first call of the turn; what comes later are reminders of the client. */
function taskOf(messages: readonly Message[], turn: readonly Message[]): Task {
  const first = turn.findIndex(hasCalls);
  const asked = textOf((first < 0 ? turn : turn.slice(0, first)).filter(({ role }) => role === "user"));
  return {
    file: lastMatch(FILE, asked) ?? "sandbox-agent.txt",
    content: (lastMatch(CONTENT, asked) ?? "Written by sandbox:agent.").slice(0, MAX_CONTENT),
    changed: lastMatch(CHANGED, asked),
    folder: (
      lastMatch(FOLDER, textOf(messages.filter(({ role }) => role !== "assistant" && role !== "tool"))) ?? ""
    ).replace(/[/.,]+$/, ""),
  };
}

function lastMatch(pattern: RegExp, text: string): string | null {
  let last: string | null = null;
  for (const match of text.matchAll(pattern)) last = match[1]!;
  return last;
}

/** The last characters of the texts of these messages. */
function textOf(messages: readonly Message[]): string {
  const texts: string[] = [];
  let room = MAX_TEXT;
  for (const { content } of messages.toReversed())
    for (const text of textsIn(content).toReversed()) {
      if (room <= 0) break;
      texts.unshift(text.slice(-room));
      room -= text.length;
    }
  return texts.join("\n");
}
