// The headers in which coding agents send the id of a session, as data with sources. Each call of a conversation has the
// same value, so that it can be kept where its prompt is cached (promise 16.2). The id chooses among targets and keys, and
// proves nothing.

interface AgentSession {
  readonly agent: string;
  /** In lower case. */
  readonly header: string;
  readonly source: string;
}

const OPENCODE = "https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/llm/request.ts";

/** The first header that a call has counts, so that names of one agent stand before names that several share. */
export const AGENT_SESSIONS: readonly AgentSession[] = [
  {
    agent: "Claude Code",
    header: "x-claude-code-session-id",
    source: "https://code.claude.com/docs/en/llm-gateway-protocol",
  },
  { agent: "opencode, at a provider of its own name", header: "x-opencode-session", source: OPENCODE },
  { agent: "opencode", header: "x-session-affinity", source: OPENCODE },
  { agent: "Kilo Code", header: "x-kilocode-taskid", source: "https://github.com/Kilo-Org/cloud/pull/3337" },
  { agent: "Kilo Code", header: "x-kilo-session", source: "https://github.com/Kilo-Org/cloud/pull/3337" },
  {
    agent: "Cline",
    header: "x-task-id",
    source: "https://github.com/cline/cline/blob/main/src/core/api/providers/cline.ts",
  },
  { agent: "Docker Agent", header: "x-cagent-session-id", source: "https://github.com/docker/docker-agent/pull/2631" },
  { agent: "Codex", header: "session-id", source: "https://github.com/raine/claude-code-proxy/pull/156" },
  {
    agent: "Codex, earlier versions",
    header: "session_id",
    source: "https://github.com/openai/codex/blob/main/codex-rs/codex-api/src/requests/headers.rs",
  },
  { agent: "opencode, and others", header: "x-session-id", source: OPENCODE },
];

/** Returns the id of the session that a call belongs to; null where its headers tell none. */
export function agentSession(http: Headers): string | null {
  for (const { header } of AGENT_SESSIONS) {
    const id = http.get(header);
    if (id !== null && id !== "") return id;
  }
  return null;
}
