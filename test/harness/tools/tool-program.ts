// A tool server as a program, for the gateway to start: speaks the protocol by hand over its input and output, and does what its arguments say. Run as
// `bun tool-program.ts <folder> [--dies-at-start]`; each start leaves a file in the folder.
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: Record<string, unknown> };
};

const [folder = "", ...flags] = process.argv.slice(2);
writeFileSync(join(folder, `start-${process.pid}`), "");
if (flags.includes("--dies-at-start")) process.exit(3);

const write = (text: string): void => void process.stdout.write(text);
const answer = (id: number | undefined, result: unknown): void =>
  write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
const text = (id: number | undefined, words: string): void => answer(id, { content: [{ type: "text", text: words }] });

const TOOLS: Readonly<Record<string, (message: Message) => void>> = {
  echo: ({ id, params }) => text(id, JSON.stringify(params?.arguments ?? {})),
  env: ({ id }) => text(id, Object.keys(process.env).toSorted().join(" ")),
  pid: ({ id }) => text(id, String(process.pid)),
  where: ({ id }) => text(id, process.cwd()),
  dies: () => process.exit(1),
  noise: ({ id }) => {
    write("this is no JSON\n\n");
    write('{"jsonrpc":"2.0","method":"notifications/nobody/knows"}\n');
    for (let line = 0; line < 1000; line++) process.stderr.write(`a line ${line} ${"x".repeat(200)}\n`);
    text(id, "still here");
  },
  tells: ({ id }) => {
    process.stderr.write(`refused: ${process.env["TOOL_KEY"]}\n`);
    process.stderr.write(Buffer.from([0xc3]));
    setTimeout(() => {
      process.stderr.write(Buffer.from([0xa4]));
      text(id, "told");
    }, 50);
  },
  giant: () => {
    const piece = "x".repeat(1024 * 1024);
    write('{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"');
    const more = (): void => {
      appendFileSync(join(folder, "megabytes"), ".");
      if (process.stdout.write(piece)) setImmediate(more);
      else process.stdout.once("drain", more);
    };
    more();
  },
  many: ({ id, params }) => {
    const values = Array.from({ length: Number(params?.arguments?.["values"]) }, () => 1);
    answer(id, { content: [{ type: "text", text: String(values.length) }], structuredContent: { values } });
  },
  large: ({ id }) => text(id, "x".repeat(200_000)),
  forever: () => {},
  deaf: () => {
    process.stdin.removeAllListeners("data");
    process.stdin.pause();
    setInterval(() => {}, 1000);
  },
};

let begun = "";
process.stdin.on("data", (bytes: Buffer) => {
  const lines = (begun + bytes.toString()).split("\n");
  begun = lines.pop()!;
  for (const line of lines) if (line !== "") handle(JSON.parse(line) as Message);
});
process.stdin.on("end", () => process.exit(0));

function handle(message: Message): void {
  const { id, method, params } = message;
  if (method === "initialize")
    answer(id, {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "program", version: "1" },
    });
  else if (method === "tools/list")
    answer(id, { tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: "object" } })) });
  else if (method === "tools/call") (TOOLS[params?.name ?? ""] ?? TOOLS["echo"]!)(message);
  else if (id !== undefined)
    write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } })}\n`);
}
