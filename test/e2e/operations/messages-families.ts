// The wire families that tests of messages ask. Those that speak the operation themselves are sent what the client wrote; Bedrock and Ollama do so in
// forms that the scripted server does not have.
import { FAMILIES, type Family, type Wire } from "./families.ts";

const UNSCRIPTED: ReadonlySet<Wire> = new Set(["bedrock", "ollama"]);
export const MESSAGES_FAMILIES: readonly Family[] = FAMILIES.filter(({ wire }) => !UNSCRIPTED.has(wire));

const NATIVE: ReadonlySet<Wire> = new Set(["anthropic", "vertex_claude"]);
export const NATIVE_MESSAGES = MESSAGES_FAMILIES.filter(({ wire }) => NATIVE.has(wire));
