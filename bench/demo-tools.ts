// `npm run demo:tools`: the real gateway, two tool servers and curl. A model of the sandbox calls tools over several
// rounds, and one streamed answer reports all of it. It needs no key and no network, and exits by itself, with code 1
// when some part of it was missing.
import { startEverything } from "../test/harness/tools/everything.ts";
import { startGateway } from "../test/harness/processes/gateway-process.ts";

const WORDS =
  'Call echo {"message": "Hello from a tool"} and call get-sum {"a": 2, "b": 40}, then call get-structured-content {"location": "Chicago"}, then tell me.';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  say(
    "Starting @modelcontextprotocol/server-everything behind an address, and the gateway, which starts a second one as a program…\n",
  );
  const everything = await startEverything();
  try {
    const gateway = await startGateway({ config: everything.config });
    try {
      say(`dragoman.yaml:\n\n${indented(everything.config)}`);
      return await asked(gateway.url, gateway.firstToken!);
    } finally {
      await gateway.stop();
    }
  } finally {
    await everything.stop();
  }
}

async function asked(url: string, token: string): Promise<number> {
  const body = {
    model: "sandbox:tools",
    stream: true,
    stream_options: { include_usage: true },
    tools: [
      { type: "mcp", server_label: "local", allowed_tools: ["echo", "get-structured-content"] },
      { type: "mcp", server_label: "remote", allowed_tools: ["get-sum"] },
    ],
    messages: [{ role: "user", content: WORDS }],
  };
  say(
    `The call, with a model that does what the user's words say:\n\n  curl -N ${url}/api/v1/chat/completions \\\n    -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n    -d '${JSON.stringify(body)}'\n\nWhat comes, as it comes (ms since the call began):\n`,
  );
  const startedMs = performance.now();
  const curl = Bun.spawn(
    [
      "curl",
      "-sS",
      "-N",
      "--max-time",
      "60",
      `${url}/api/v1/chat/completions`,
      "-H",
      `Authorization: Bearer ${token}`,
      "-H",
      "Content-Type: application/json",
      "-d",
      JSON.stringify(body),
    ],
    { stdout: "pipe", stderr: "inherit" },
  );
  const seen = new Seen();
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of curl.stdout) {
    rest += decoder.decode(bytes, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const line = seen.take(block);
      if (line !== null) say(`${(performance.now() - startedMs).toFixed(0).padStart(6)}  ${line}`);
    }
  }
  say(`\nThe answer as the client has it:\n\n${indented(seen.text)}\n`);
  const missing = seen.missing((await curl.exited) === 0);
  say(
    missing.length === 0
      ? "All of it was seen: one answer over three rounds, tools over stdio and HTTP, their activity, one finish reason, the usage of all rounds."
      : `NOT SEEN: ${missing.join("; ")}`,
  );
  return missing.length === 0 ? 0 : 1;
}

/** What the stream has reported so far. */
class Seen {
  text = "";
  readonly #ids = new Set<string>();
  readonly #ended: string[] = [];
  #started = 0;
  #finishes = 0;
  #mcp: { readonly rounds?: number } = {};
  #usage: { readonly total_tokens?: number } | null = null;
  #isDone = false;

  /** Returns a line for people, or null when the block reports nothing new. */
  take(block: string): string | null {
    if (block.startsWith(":")) return "(keep-alive)";
    if (block === "data: [DONE]") {
      this.#isDone = true;
      return "[DONE]";
    }
    const event = JSON.parse(block.slice("data: ".length)) as Record<string, any>;
    this.#ids.add(event["id"]);
    if (event["usage"]) {
      this.#usage = event["usage"];
      return `usage of all rounds  ${JSON.stringify(event["usage"])}`;
    }
    const [choice] = event["choices"] as readonly Record<string, any>[];
    const told = event["x_gateway_mcp"];
    if (told?.type !== undefined) {
      if (told.type === "tool_start") this.#started += 1;
      else this.#ended.push(`${told.server_label} ${told.tool} ${told.type}`);
      return `${told.type.padEnd(10)}  round ${told.round}: ${told.server_label} ${told.tool}${told.duration_ms === undefined ? "" : ` (${told.duration_ms} ms)`}`;
    }
    if (choice?.["finish_reason"]) {
      this.#finishes += 1;
      this.#mcp = told ?? {};
      return `finish      ${choice["finish_reason"]}, after ${told?.rounds} rounds`;
    }
    const piece: string = choice?.["delta"].content ?? "";
    this.text += piece;
    return piece === "" ? null : `text        ${JSON.stringify(piece)}`;
  }

  missing(isWhole: boolean): readonly string[] {
    const demands: readonly (readonly [boolean, string])[] = [
      [isWhole && this.#isDone, "the end of the stream"],
      [this.#ids.size === 1, "one id throughout"],
      [this.#finishes === 1, "one finish reason"],
      [this.#mcp.rounds === 3, "three rounds"],
      [this.#started === 3, "three tools that start"],
      ...["local echo", "remote get-sum", "local get-structured-content"].map(
        (tool) => [this.#ended.includes(`${tool} tool_end`), `the end of ${tool}`] as const,
      ),
      [this.text.includes("Hello from a tool") && this.text.includes("42"), "what the tools said"],
      [(this.#usage?.total_tokens ?? 0) > 0, "usage"],
    ];
    return demands.filter(([isThere]) => !isThere).map(([, what]) => what);
  }
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, "  ");
}

process.exitCode = await main();
