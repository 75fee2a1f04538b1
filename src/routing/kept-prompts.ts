// What this process knows of the prompts that providers were sent lately, by conversation: where they went, what the
// provider has kept of them, and hashes of their pieces. Of another process it knows nothing.

// Decides (records and configuration): Why did a call miss the provider's prompt cache? By: `KeptPrompts`. Also: the hashes:
// `engine/attempt/prompt-pieces.ts`. Rule: Where fewer tokens were read than were kept after the conversation's earlier
// call: the first that is true of another target, another key, a changed piece, and the vendor's time.
import type { Usage } from "../core/chat.ts";
import type { NumberedPrompt, PromptPieces } from "../core/configured/prompt-cache.ts";
import type { PromptCacheMiss } from "../core/record/record.ts";

export interface SentPrompt {
  /** The name of the target. */
  readonly target: string;
  /** Identifies the credential; null for a target without. */
  readonly credential: string | null;
  readonly pieces: NumberedPrompt;
  /** By the monotonic clock, as is `endMs`. */
  readonly startMs: number;
  readonly endMs: number;
}

interface KeptPrompt extends Omit<SentPrompt, "pieces"> {
  readonly pieces: PromptPieces;
  /** How many tokens the provider has kept; at least as many as this where it does not tell. */
  readonly tokens: number;
  readonly isKeptLong: boolean;
}

/** Agents have several conversations in one session: with the user, for titles, and of each helper. */
const MOST_OF_A_SESSION = 8;
const MOST_HASHES = 1_000_000;
/** Longer than any vendor keeps a prompt that is asked for an hour. */
const FORGOTTEN_MS = 2 * 3_600_000;
/**
 * How long Claude's vendor, Bedrock and OpenAI keep a prompt at least that is not used again:
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html,
 * https://developers.openai.com/api/docs/guides/prompt-caching
 */
const KEPT_MS = 300_000;
const KEPT_LONG_MS = 3_600_000;
/** Vendors that cache by themselves keep no prompt with fewer tokens, from the same pages. */
const LEAST_TOKENS = 1024;

export class KeptPrompts {
  readonly #bySession = new Map<string, readonly KeptPrompt[]>();
  #hashes = 0;

  /** How many hashes are kept, which is what the memory for them is bounded by. */
  get hashes(): number {
    return this.#hashes;
  }

  /**
   * Takes note of a prompt that was answered. Returns why its provider read less of it from the cache than was kept of the
   * conversation before; null where it did not, or where nothing is known.
   */
  answered(session: string, sent: SentPrompt, usage: Usage): PromptCacheMiss | null {
    const { prompt_tokens_details: told, prompt_tokens: length } = usage;
    const {
      cached_tokens: readTokens,
      cache_write_tokens: written,
      cache_write_1h_tokens: writtenLong = 0,
    } = told ?? {};
    if (readTokens === undefined && written === undefined) return null;
    const read = readTokens ?? 0;
    const known = this.#bySession.get(session) ?? [];
    const earlier = nearest(known, sent.pieces);
    const untold = read === 0 && length >= LEAST_TOKENS ? 1 : read;
    const { numbers: _numbers, ...pieces } = sent.pieces;
    this.#keep(session, known, earlier, {
      ...sent,
      pieces,
      tokens: written === undefined ? untold : read + written,
      isKeptLong: writtenLong > 0 || (read > 0 && earlier?.isKeptLong === true),
    });
    // calls beside one another do not find what the other one is about to write
    if (earlier === null || earlier.endMs > sent.startMs || read >= earlier.tokens) return null;
    return whyMissed(earlier, sent, read);
  }

  #keep(session: string, known: readonly KeptPrompt[], replaced: KeptPrompt | null, kept: KeptPrompt): void {
    const isForgotten = ({ endMs }: KeptPrompt): boolean => kept.endMs - endMs >= FORGOTTEN_MS;
    const others = known.filter((one) => one !== replaced && !isForgotten(one)).slice(1 - MOST_OF_A_SESSION);
    this.#forget(session);
    this.#bySession.set(session, [...others, kept]);
    this.#hashes += hashesOf([...others, kept]);
    for (const [oldest, prompts] of this.#bySession) {
      if (!isForgotten(prompts.at(-1)!) && this.#hashes <= MOST_HASHES) break;
      this.#forget(oldest);
    }
  }

  #forget(session: string): void {
    this.#hashes -= hashesOf(this.#bySession.get(session) ?? []);
    this.#bySession.delete(session);
  }
}

/** Each prompt counts for a few more than its messages, which bounds the number of prompts without any. */
function hashesOf(prompts: readonly KeptPrompt[]): number {
  return prompts.reduce((sum, { pieces }) => sum + pieces.messages.length + BESIDE_MESSAGES, 0);
}
const BESIDE_MESSAGES = 64;

/** Returns the prompt with which this one has most messages in common at the same place, the latest of several. */
function nearest(known: readonly KeptPrompt[], pieces: PromptPieces): KeptPrompt | null {
  let most = 0;
  let found: KeptPrompt | null = null;
  for (const one of known) {
    const common = commonPieces(one.pieces, pieces);
    if (common > 0 && common >= most) [most, found] = [common, one];
  }
  return found;
}

/** Tools alone make no conversation: an agent has the same in all of its. */
function commonPieces(one: PromptPieces, other: PromptPieces): number {
  const equal = one.messages.reduce((sum, hash, at) => (hash === other.messages[at] ? sum + 1 : sum), 0);
  return one.system !== 0 && one.system === other.system ? equal + 1 : equal;
}

function whyMissed(earlier: KeptPrompt, sent: SentPrompt, read: number): PromptCacheMiss {
  if (earlier.target !== sent.target) return { why: "other_target", earlier: earlier.target };
  if (earlier.credential !== sent.credential) return { why: "other_credential" };
  const changed = changedPiece(earlier.pieces, sent.pieces);
  const agoMs = sent.startMs - earlier.startMs;
  const isTooOld = agoMs >= (earlier.isKeptLong ? KEPT_LONG_MS : KEPT_MS);
  // before a change further on, the vendor would have found something
  const isExplainedByTime = isTooOld && read === 0 && typeof changed === "number" && changed > 0;
  if (changed !== null && !isExplainedByTime)
    return { why: "prompt_changed", at: typeof changed === "number" ? numberOf(changed, sent.pieces) : changed };
  return isTooOld ? { why: "too_old", agoMs } : { why: "not_found" };
}

/** Returns the index of a message that was changed, of those that are no system text. */
function changedPiece(earlier: PromptPieces, now: PromptPieces): "tools" | "system" | number | null {
  if (earlier.tools !== now.tools) return "tools";
  if (earlier.system !== now.system) return "system";
  const at = earlier.messages.findIndex((hash, index) => hash !== now.messages[index]);
  return at === -1 ? null : at;
}

/** A message that is no longer there has the number after the last one. */
function numberOf(index: number, { numbers }: NumberedPrompt): number {
  return numbers[index] ?? (numbers.at(-1) ?? 0) + 1;
}
