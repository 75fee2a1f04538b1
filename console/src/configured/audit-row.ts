// Who has done what a row of the audit log says, in words.
import type { AuditRow } from "../api/types.ts";

const WAYS = { console: "in the console", cli: "with the command line", api: "over the API" } as const;

export function actorText({ actor, address, via }: Pick<AuditRow, "actor" | "address" | "via">): string {
  const who =
    actor.user_id ??
    (actor.token_id !== null
      ? `token ${actor.token_id}`
      : via === "console"
        ? "somebody who is not signed in"
        : "the gateway's machine");
  return [who, ...(address === null ? [] : [`from ${address}`]), ...(via === null ? [] : [WAYS[via]])].join(" ");
}
