// A stand-in for vendors that keep the beginning of prompts, and report it in their figures: what one key has sent is not kept
// for another. Claude's vendor keeps what stands before a mark, and finds what was kept up to twenty blocks before one
// (https://platform.claude.com/docs/en/build-with-claude/prompt-caching); OpenAI keeps every prompt in steps of 128 tokens, from
// 1024 on (https://developers.openai.com/api/docs/guides/prompt-caching).
import type { SeenRequest } from "./upstream.ts";

type Body = Readonly<Record<string, unknown>>;

export interface CachingVendor {
  /** Answers a request to `/v1/messages`, `/v1/responses` or `/v1/chat/completions`. */
  answer(request: Pick<SeenRequest, "path" | "headers" | "body">): VendorAnswer;
  /** The prompt tokens that it has billed so far, and how many of them it has read from its cache and written to it. */
  readonly billed: { readonly prompt: number; readonly read: number; readonly written: number };
  /** Drops all that is kept. */
  forget(): void;
}

interface VendorAnswer {
  readonly status: number;
  readonly body: object;
}
type Asked = Parameters<CachingVendor["answer"]>[0];

const LEAST_TOKENS = 1024;
const STEP_TOKENS = 128;
const BLOCKS_BACK = 20;
const CHARACTERS_OF_A_TOKEN = 4;

const DONE: readonly Body[] = [{ type: "text", text: "Done." }];

/** `says` gives the blocks with which Claude's vendor answers; a text, if left out. */
export function cachingVendor(says: (body: Body) => readonly Body[] = () => DONE): CachingVendor {
  const kept = new Set<string>();
  const billed = { prompt: 0, read: 0, written: 0 };
  const bill = (prompt: number, read: number, written: number): void => {
    billed.prompt += prompt;
    billed.read += read;
    billed.written += written;
  };

  const claude = ({ body, headers }: Asked): VendorAnswer => {
    const prefixes = prefixesOf(headers["x-api-key"] ?? "", blocksOf(body));
    const marks = prefixes.flatMap(({ isMarked, tokens }, at) => (isMarked && tokens >= LEAST_TOKENS ? [at] : []));
    if (prefixes.filter(({ isMarked }) => isMarked).length > MOST_MARKS)
      return {
        status: 400,
        body: { type: "error", error: { type: "invalid_request_error", message: "too many marks" } },
      };
    const found = marks
      .flatMap((mark) => prefixes.slice(Math.max(0, mark - BLOCKS_BACK), mark + 1))
      .filter(({ hash }) => kept.has(hash));
    const prompt = prefixes.at(-1)?.tokens ?? 0;
    const read = Math.max(0, ...found.map(({ tokens }) => tokens));
    const written = marks.length === 0 ? 0 : Math.max(0, prefixes[marks.at(-1)!]!.tokens - read);
    for (const mark of marks) kept.add(prefixes[mark]!.hash);
    bill(prompt, read, written);
    const content = says(body);
    return answered({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-5",
      content,
      stop_reason: content.at(-1)!["type"] === "tool_use" ? "tool_use" : "end_turn",
      stop_sequence: null,
      usage: {
        input_tokens: prompt - read - written,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: written,
        output_tokens: 10,
      },
    });
  };

  const openai = ({ body, headers, path }: Asked): VendorAnswer => {
    const { instructions, tools, input, messages } = body;
    const text = JSON.stringify([tools, instructions, input ?? messages]);
    const prompt = Math.ceil(text.length / CHARACTERS_OF_A_TOKEN);
    let read = 0;
    for (let tokens = LEAST_TOKENS; tokens <= prompt; tokens += STEP_TOKENS) {
      const hash = hashOf(headers["authorization"] ?? "", text.slice(0, tokens * CHARACTERS_OF_A_TOKEN));
      if (kept.has(hash)) read = tokens;
      kept.add(hash);
    }
    bill(prompt, read, 0);
    return answered(
      path.endsWith("/responses")
        ? {
            id: "resp_1",
            object: "response",
            created_at: 1_767_000_000,
            status: "completed",
            model: "gpt-5",
            output: [
              {
                id: "msg_1",
                type: "message",
                role: "assistant",
                status: "completed",
                content: [{ type: "output_text", text: "Done.", annotations: [] }],
              },
            ],
            usage: {
              input_tokens: prompt,
              input_tokens_details: { cached_tokens: read },
              output_tokens: 10,
              output_tokens_details: { reasoning_tokens: 0 },
              total_tokens: prompt + 10,
            },
          }
        : {
            id: "chatcmpl-1",
            object: "chat.completion",
            created: 1_767_000_000,
            model: "gpt-5",
            choices: [{ index: 0, message: { role: "assistant", content: "Done." }, finish_reason: "stop" }],
            usage: {
              prompt_tokens: prompt,
              prompt_tokens_details: { cached_tokens: read },
              completion_tokens: 10,
              total_tokens: prompt + 10,
            },
          },
    );
  };

  return {
    answer: (request) => (request.path.startsWith("/v1/messages") ? claude(request) : openai(request)),
    billed,
    forget: () => kept.clear(),
  };
}

const answered = (body: object): VendorAnswer => ({ status: 200, body });

const MOST_MARKS = 4;

interface Prefix {
  readonly hash: string;
  readonly tokens: number;
  readonly isMarked: boolean;
}

function prefixesOf(account: string, blocks: readonly Body[]): readonly Prefix[] {
  let hash = account;
  let characters = 0;
  return blocks.map(({ cache_control: mark, ...block }) => {
    const text = JSON.stringify(block);
    hash = hashOf(hash, text);
    characters += text.length;
    return { hash, tokens: Math.ceil(characters / CHARACTERS_OF_A_TOKEN), isMarked: mark != null };
  });
}

/** The blocks of a prompt in the order in which they are kept. A text is a block of its own. */
function blocksOf({ tools = [], system = [], messages = [] }: Body): readonly Body[] {
  const contentOf = (content: unknown, role: string): readonly Body[] =>
    (typeof content === "string" ? [{ type: "text", text: content }] : (content as readonly Body[])).map((block) => ({
      role,
      ...block,
    }));
  return [
    ...(tools as readonly Body[]),
    ...contentOf(system, "system"),
    ...(messages as readonly Body[]).flatMap(({ role, content }) => contentOf(content, role as string)),
  ];
}

function hashOf(before: string, text: string): string {
  return new Bun.CryptoHasher("sha256").update(before).update("\0").update(text).digest("hex");
}
