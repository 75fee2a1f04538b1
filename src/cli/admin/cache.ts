// `dragoman cache purge`: removes answers from the response cache of the running gateway.
import { counted } from "../../core/text/counted.ts";
import type { Environment } from "../../config/environment.ts";
import { isObject } from "../../core/json.ts";
import { printJson, printLine } from "../output.ts";
import { type GatewayFlags, openAdminClient } from "./client.ts";
import { placePath, type PlaceFlags } from "./run.ts";

type PurgeFlags = GatewayFlags &
  Pick<PlaceFlags, "tenant"> & {
    readonly route?: string;
    readonly key?: string;
    readonly json?: true;
  };

export async function purge({ route, key, ...flags }: PurgeFlags, environment: Environment): Promise<void> {
  const body = { ...(route !== undefined && { route }), ...(key !== undefined && { key }) };
  const answer = await openAdminClient(flags, environment).send(
    "POST",
    `${placePath({ place: "tenant" }, flags)}/cache/purge`,
    { body },
  );
  if (flags.json === true) return printJson(answer);
  const removed = isObject(answer) ? answer["removed"] : 0;
  printLine(`${counted(Number(removed), "answer was", "answers were")} removed.`);
}
