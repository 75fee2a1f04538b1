// `dragoman audit verify`, `export` and `as-of`: checks the audit log of a running gateway or an export of it, writes an
// export, and shows who could call what at a time in the past. An export is checked without a gateway.
import { counted } from "../../core/text/counted.ts";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Environment } from "../../config/environment.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { messageOf } from "../../core/thrown.ts";
import { checkedExport } from "../../store/audit/audit-export.ts";
import { printError, printJson, printLine, printTable } from "../output.ts";
import { type GatewayFlags, openAdminClient } from "./client.ts";
import { writeExport } from "./export-file.ts";
import { asked, pathOf, type PlaceFlags } from "./run.ts";
import { cell, rowsOf } from "../things.ts";

type AuditFlags = GatewayFlags & Pick<PlaceFlags, "tenant">;

/** A check reads the whole chain. The gateway gives up after ten minutes, and says what to do then. */
const TIMEOUT_MS = 620_000;

/** Returns 1 when a row was changed or is missing, or when the signature is not that of the key. */
export async function verify(
  file: string | undefined,
  flags: AuditFlags & { readonly all?: true; readonly head?: string; readonly key?: string },
  environment: Environment,
): Promise<number> {
  if (file !== undefined) return await verifyFile(file, flags);
  const { head, json } = flags;
  if (flags.all === true && head !== undefined)
    throw new Error("--head is about one chain, so that it does not go together with --all.");
  const answer = await openAdminClient(flags, environment).send("GET", `${auditPath(flags)}/verify`, {
    query: head === undefined ? {} : headOf(head),
    timeoutMs: TIMEOUT_MS,
  });
  const report = isObject(answer) ? answer : {};
  if (json === true) printJson(report);
  else rowsOf(report["chains"]).forEach(printChain);
  return report["intact"] === true ? 0 : 1;
}

const auditPath = (flags: PlaceFlags): string => pathOf("audit", null, flags, "tenant");

function headOf(text: string): Readonly<Record<string, string>> {
  const [, sequence, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (sequence === undefined || hash === undefined)
    throw new Error("--head expects a number and a hash as `dragoman audit verify` prints them, with a colon between.");
  return { sequence, hash };
}

function printChain(chain: JsonObject): void {
  const problems = rowsOf(chain["problems"]);
  const whose = chain["tenant_id"] === null ? "What concerns no tenant" : `The tenant ${cell(chain, "tenant_id")}`;
  const removed =
    chain["removed"] === 0
      ? ""
      : `, ${chain["removed"] === 1 ? "1 was" : `${cell(chain, "removed")} were`} removed because of their age (the newest of ${cell(chain, "newest_removed_at")})`;
  printLine(
    `${whose}: ${counted(cell(chain, "rows"), "row")}${removed}. ${problems.length === 0 ? "No row was changed or removed." : ""}`,
  );
  for (const problem of problems) printError(cell(problem, "message"));
  printLine(`Its head: ${cell(chain, "head.sequence")}:${cell(chain, "head.hash")}`);
}

async function verifyFile(
  file: string,
  { key, json }: { readonly key?: string; readonly json?: true },
): Promise<number> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity });
  const checked = await checkedExport(lines).catch((thrown: unknown) => {
    throw new Error(`${file}: ${messageOf(thrown)}`, { cause: thrown });
  });
  const isExpected = key === undefined || key === checked.publicKey;
  const isIntact = checked.problems.length === 0 && checked.isSigned && isExpected;
  if (json === true) printJson({ intact: isIntact, ...checked });
  else {
    const whose = checked.tenantId === null ? "what concerns no tenant" : `the tenant ${checked.tenantId}`;
    printLine(
      `Export of ${whose} of ${checked.exportedAt}: rows ${checked.before.sequence + 1} to ${checked.end.sequence}, of which ${checked.rows} are there and ${checked.removed} were removed because of their age.`,
    );
    for (const { message } of checked.problems) printError(message);
    if (!checked.isSigned) printError("The signature is wrong: the file was changed after it was exported.");
    else if (isExpected)
      printLine(
        `Signed with the key ${checked.publicKey}${key === undefined ? ". --key <key> says which one it has to be." : "."}`,
      );
    else printError(`It was signed with another key: ${checked.publicKey}.`);
    if (isIntact) printLine("No row was changed or removed.");
  }
  return isIntact ? 0 : 1;
}

/** Throws Error when the gateway refuses it, or when the file cannot be written. */
export async function exportAudit(
  flags: AuditFlags & {
    readonly gateway?: true;
    readonly out?: string;
    readonly from?: string;
    readonly to?: string;
  },
  environment: Environment,
): Promise<void> {
  const { gateway, from, to } = flags;
  const client = openAdminClient(flags, environment);
  const text = await client.read(`${auditPath(gateway === true ? { all: true } : flags)}/export`, {
    query: { from, to },
    timeoutMs: TIMEOUT_MS,
  });
  await writeExport(text, flags, ` \`dragoman audit verify ${flags.out}\` checks it.`);
}

export async function asOf(
  at: string,
  flags: AuditFlags & { readonly project?: string; readonly model?: string; readonly route?: string },
  environment: Environment,
): Promise<void> {
  const { project, model, route } = flags;
  const answer = await asked(flags, environment, "GET", `${auditPath(flags)}/as_of`, {
    query: { at, project_id: project, model, route },
    timeoutMs: TIMEOUT_MS,
  });
  if (answer === null) return;
  const { users, tokens } = answer;
  printLine(
    `As of ${cell(answer, "at")}, with version ${cell(answer, "configuration_version")} of the configuration.\n`,
  );
  printTable(
    ["USER", "NAME", "OPERATOR", "COMPANY LOGIN", "ROLES"],
    rowsOf(users).map((user) => [
      ...["id", "name", "operator", "company_login"].map((field) => cell(user, field)),
      rolesIn(user),
    ]),
  );
  printLine("");
  printTable(
    ["TOKEN", "NAME", "USER", "ROLES", "PERMISSIONS", "MODELS", "ROUTES", "EXPIRES"],
    rowsOf(tokens).map((token) => [
      cell(token, "id"),
      cell(token, "name"),
      cell(token, "user_id"),
      rolesIn(token),
      ...["permissions", "models", "routes"].map((field) => textsIn(token[field])),
      cell(token, "expires_at"),
    ]),
  );
}

const textsIn = (list: Json | undefined): string => ((list ?? []) as readonly string[]).join(" ") || "-";

function rolesIn(of: JsonObject): string {
  return (
    rowsOf(of["roles"])
      .map((one) => `${cell(one, "role")}${one["project_id"] === null ? "" : ` in ${cell(one, "project_id")}`}`)
      .join(", ") || "-"
  );
}
