// What a token is and may do, in words.
import type { ListedToken, Token } from "../../api/types.ts";
import { TimeText } from "../../components/time-text.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { Status } from "../../components/status-mark.tsx";

const STATES = {
  live: { tone: "good", word: "Live" },
  expired: { tone: "warn", word: "Expired" },
  revoked: { tone: "idle", word: "Revoked" },
} as const;

export function TokenState({ state }: { readonly state: Token["state"] }) {
  const { tone, word } = STATES[state];
  return <Status tone={tone}>{word}</Status>;
}

/** When a token was used last. Calls are kept for a time, so an old token without one may have made some. */
export function LastCall({ token }: { readonly token: Pick<ListedToken, "last_used_at"> }) {
  return token.last_used_at === null ? <>no call is recorded</> : <TimeText at={token.last_used_at} />;
}

export function belongsTo({ kind, user_id: user, project_id: project, role }: Token): string {
  return kind === "personal" ? `${user ?? "?"} (personal)` : `${project ?? "?"} (${role ?? "?"})`;
}

/** Empty lists narrow nothing. */
export function narrowingOf({ models, routes, tools, ip }: Pick<Token, "models" | "routes" | "tools" | "ip">): string {
  const parts = [
    ...(models.length > 0 ? [`models ${models.join(", ")}`] : []),
    ...(routes.length > 0 ? [`routes ${routes.join(", ")}`] : []),
    ...(tools.length > 0 ? [`tools ${tools.join(", ")}`] : []),
    ...(ip.length > 0 ? [`from ${ip.join(", ")}`] : []),
  ];
  return parts.length === 0 ? "everything" : visibleText(parts.join("; "));
}
