// `dragoman cache purge`: removes answers from the response cache of the running gateway.
import { counted } from "../../core/text/counted.ts";
import type { Environment } from "../../config/environment.ts";
import { printLine } from "../output.ts";
import type { GatewayFlags } from "./client.ts";
import { asked, placePath, type PlaceFlags } from "./run.ts";

type PurgeFlags = GatewayFlags &
  Pick<PlaceFlags, "tenant"> & {
    readonly route?: string;
    readonly key?: string;
  };

export async function purge({ route, key, ...flags }: PurgeFlags, environment: Environment): Promise<void> {
  const body = { ...(route !== undefined && { route }), ...(key !== undefined && { key }) };
  const path = `${placePath(flags, "tenant")}/cache/purge`;
  const answer = await asked(flags, environment, "POST", path, { body });
  if (answer !== null) printLine(`${counted(Number(answer["removed"] ?? 0), "answer was", "answers were")} removed.`);
}
