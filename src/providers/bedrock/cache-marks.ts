// The models behind Converse that take cache points, and where. Any other model refuses them.
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
import type { CacheMarks } from "../../core/configured/prompt-cache.ts";
import { CLAUDE_MARKS } from "../claude/cache-marks.ts";

/** Claude 3.5 Haiku, 3.7 Sonnet, and all since Claude 4. */
const CLAUDE = /claude-(?:3-5-haiku|3-7-sonnet|[a-z]+-(?:[4-9]|[1-9]\d))/;
const NOVA = /nova-(?:2-|micro|lite|pro|premier)/;
/** Nova takes them in the system text and in messages. */
const NOVA_MARKS: CacheMarks = { most: 4, inTools: false, inAnswers: true };

export function cacheMarksOf(model: string): CacheMarks | null {
  if (CLAUDE.test(model)) return CLAUDE_MARKS;
  return NOVA.test(model) ? NOVA_MARKS : null;
}
