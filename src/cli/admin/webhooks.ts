// `dragoman webhook ...` beyond creating, reading, changing and removing webhooks: lists deliveries, sends one again,
// sends a test, makes a new secret.
import type { Environment } from "../../config/environment.ts";
import { isObject, type Json } from "../../core/json.ts";
import { printJson, printLine, printYaml } from "../output.ts";
import { type AdminClient, type GatewayFlags, openAdminClient } from "./client.ts";
import { asked, pathOf, type PlaceFlags, printShownOnce } from "./run.ts";
import { cell, printThings } from "../things.ts";

/** With `all`: deliveries of all tenants, and of the webhooks in the file that get the events of all tenants. */
export interface WebhookFlags extends GatewayFlags, PlaceFlags {}
export interface DeliveriesFlags extends WebhookFlags {
  readonly state?: string;
  readonly type?: string;
  readonly webhook?: string;
  readonly most?: number;
}

const COLUMNS = {
  ID: "id",
  WEBHOOK: "webhook_name",
  TYPE: "type",
  STATE: "state",
  ATTEMPTS: "attempts",
  CREATED: "created_at",
  NEXT: "next_attempt_at",
  STATUS: "last_status",
  ERROR: "last_error",
} as const;
const DELIVERIES = "webhook_deliveries";
const MOST = 100;
/** How long a test waits for its first attempt before the command gives up. */
const TEST_WAIT_MS = 30_000;
const TEST_POLL_MS = 250;

export async function deliveries(flags: DeliveriesFlags, environment: Environment): Promise<void> {
  const client = openAdminClient(flags, environment);
  const found = await client.list(
    pathOf(DELIVERIES, null, flags),
    { state: flags.state, type: flags.type, webhook_id: flags.webhook },
    flags.most ?? MOST,
  );
  if (flags.json === true) return printJson(found);
  printThings(COLUMNS, found);
}

export async function delivery(id: string, flags: WebhookFlags, environment: Environment): Promise<void> {
  const path = pathOf(DELIVERIES, id, flags);
  const answer = await asked(flags, environment, "GET", path);
  if (answer !== null) printYaml(answer);
}

export async function redeliver(id: string, flags: WebhookFlags, environment: Environment): Promise<void> {
  const path = `${pathOf(DELIVERIES, id, flags)}/redeliver`;
  const answer = await asked(flags, environment, "POST", path);
  if (answer !== null) printLine(`The delivery ${id} has been queued again.`);
}

/** Returns the exit code: 1 when the receiver did not accept the event in time. */
export async function test(name: string, flags: WebhookFlags, environment: Environment): Promise<number> {
  const client = openAdminClient(flags, environment);
  const queued = await client.send("POST", `${pathOf("webhooks", name, flags)}/test`);
  const tried = await firstAttempt(client, flags, queued);
  if (flags.json === true) printJson(tried);
  else if (cell(tried, "state") === "delivered")
    printLine(
      `The webhook ${name} accepted the event ${cell(tried, "event_id")} (HTTP status ${cell(tried, "last_status")}).`,
    );
  else if (!isAttempted(tried))
    printLine(
      `The webhook ${name} has not answered within ${TEST_WAIT_MS / 1000} s. The delivery ${cell(tried, "id")} is still ${cell(tried, "state")}; see it with: dragoman webhook delivery ${cell(tried, "id")}`,
    );
  else
    printLine(
      `The webhook ${name} did not accept the event: ${cell(tried, "last_error")}. The delivery ${cell(tried, "id")} is ${cell(tried, "state")}; next attempt: ${cell(tried, "next_attempt_at")}.`,
    );
  return cell(tried, "state") === "delivered" ? 0 : 1;
}

const isAttempted = (one: Json): boolean => isObject(one) && (one["state"] !== "pending" || one["last_error"] !== null);

/** The delivery after its first attempt, or as it was when the time was over. */
async function firstAttempt(client: AdminClient, flags: WebhookFlags, queued: Json): Promise<Json> {
  const isOfAll = isObject(queued) && queued["tenant_id"] === null;
  const path = pathOf(DELIVERIES, cell(queued, "id"), isOfAll ? { all: true } : flags);
  for (let waitedMs = 0; waitedMs < TEST_WAIT_MS; waitedMs += TEST_POLL_MS) {
    const now = await client.send("GET", path);
    if (isAttempted(now)) return now;
    await Bun.sleep(TEST_POLL_MS);
  }
  return queued;
}

export async function rotate(
  name: string,
  flags: WebhookFlags & { readonly overlapMinutes?: number },
  environment: Environment,
): Promise<void> {
  const body = flags.overlapMinutes === undefined ? {} : { overlap_minutes: flags.overlapMinutes };
  const path = `${pathOf("webhooks", name, flags)}/rotate`;
  const answer = await asked(flags, environment, "POST", path, { body });
  if (answer === null) return;
  const until = cell(answer, "previous_secret_until");
  printLine(
    `The webhook ${name} has a new secret. ${until === "-" ? "No old secret signs any more." : `The old secret signs too until ${until}.`}`,
  );
  printShownOnce("secret", answer);
}
