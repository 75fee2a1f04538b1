// Four forms in which providers speak: how each says a turn of the model, plain and streamed, and what a request in it
// says. So one table of turns can be tried over all of them.
import { CLAUDE } from "./claude-turns.ts";
import { CONVERSE } from "./converse-turns.ts";
import { GEMINI } from "./gemini-turns.ts";
import { OPENAI } from "./openai-turns.ts";
import type { Vendor } from "./said.ts";

export const VENDORS: Readonly<Record<string, Vendor>> = {
  openai: OPENAI,
  anthropic: CLAUDE,
  gemini: GEMINI,
  bedrock: CONVERSE,
};
