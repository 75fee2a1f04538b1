// What projects and routes say of the prompt caches of vendors.
import { z } from "zod";
import type { PromptCaching } from "../../core/configured/prompt-cache.ts";

export const promptCacheSchema = z.literal(["auto", false], "expected auto, or false").optional();

export function toPromptCaching(entry: NonNullable<z.output<typeof promptCacheSchema>>): PromptCaching {
  return entry === "auto" ? "auto" : "off";
}
