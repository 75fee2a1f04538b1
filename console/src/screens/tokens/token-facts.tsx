// What a token is and may do, in words.
import type { ListedToken, Token } from "../../api/types.ts";
import { TimeText } from "../../components/time-text.tsx";
import { visibleText } from "../../format/visible-text.ts";

const STATES: Readonly<
  Record<Token["state"], { readonly tone: string; readonly mark: string; readonly word: string }>
> = {
  live: { tone: "good", mark: "✓", word: "Live" },
  expired: { tone: "warn", mark: "!", word: "Expired" },
  revoked: { tone: "idle", mark: "–", word: "Revoked" },
};

export function TokenState({ state }: { readonly state: Token["state"] }) {
  const { tone, mark, word } = STATES[state];
  return (
    <span className={`status ${tone}`} data-mark={mark}>
      {word}
    </span>
  );
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
