// What the gateway says of itself: its version, where it is reached, whether it is ready, how long it keeps what, and how
// the console is set. How it is run on its machine is for operators only.
import { z } from "zod";
import type { DocumentDependencies } from "./configured/document-rule.ts";
import { type AdminContext, type AdminOperation, reading } from "./operation.ts";
import { time } from "./schemas.ts";
import { shownAs } from "./shown.ts";

const days = z.int().nullable();
const gateway = z
  .strictObject({
    version: z.string(),
    at: time.meta({ description: "The gateway's clock." }),
    license: z.string(),
    ready: z.boolean(),
    console_url: z
      .string()
      .nullable()
      .meta({ description: "Where browsers reach it; null where no console is served." }),
    retention: z
      .strictObject({
        calls_days: days.meta({ description: "Days that single calls are kept; null for ever, as below." }),
        call_details_days: days,
        audit_days: days,
        audit_refused_days: days,
        content_allowed: z.boolean().meta({ description: "Whether tenants may keep prompts and answers." }),
      })
      .meta({ description: "As the configuration file says: `calls`, `audit` and `content_log`." }),
    console: z
      .strictObject({
        served: z.boolean(),
        session_idle_s: z.int(),
        session_max_s: z.int(),
        project_tokens: z.boolean(),
        insecure_http: z.boolean(),
      })
      .meta({ description: "The section `console` of the configuration file." }),
    run: z
      .strictObject({
        not_ready: z.string().nullable().meta({ description: "Why it is not ready." }),
        configuration_file: z.string().nullable(),
        host: z.string(),
        port: z.int(),
        workers: z.int(),
        database: z.enum(["sqlite", "postgresql"]),
        limit_store: z.enum(["memory", "valkey"]),
      })
      .nullable()
      .meta({ description: "How it is run; null for those who are no operators." }),
  })
  .meta({ id: "Gateway" });

const LICENSE = "Apache-2.0";

export function gatewayOperations(
  dependencies: Pick<DocumentDependencies, "configuration">,
  about: Pick<AdminContext, "version" | "started" | "notReady">,
): readonly AdminOperation[] {
  const read = reading({
    id: "readGateway",
    path: "/gateway",
    tag: "gateway",
    summary: "Get the gateway's version, readiness, retention and console settings",
    answer: gateway,
    run: ({ caller, nowMs, consoleAddress }) => {
      const { calls, audit, hasConsole, ...run } = about.started;
      const { console: settings, content_log: content } = dependencies.configuration();
      const why = about.notReady();
      const body = shownAs(gateway, {
        version: about.version,
        atMs: nowMs,
        license: LICENSE,
        ready: why === null,
        consoleUrl: hasConsole ? consoleAddress() : null,
        retention: {
          callsDays: calls.keepDays,
          callDetailsDays: calls.keepDetailsDays,
          auditDays: audit.keepDays,
          auditRefusedDays: audit.keepRefusedDays,
          contentAllowed: content.allowed,
        },
        console: { ...settings, served: hasConsole },
        run: caller.isOperator ? { ...run, notReady: why } : null,
      });
      return { body };
    },
  });
  return [read];
}
