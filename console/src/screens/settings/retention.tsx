// How long the gateway keeps calls and the audit log, as the configuration file says it for all tenants.
import type { Gateway } from "../../api/types.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { wholeCount } from "../../format/count.ts";
import { SettingList } from "./setting-list.tsx";
import { Panel } from "../../components/panel.tsx";

const days = (count: number | null): string =>
  count === null ? "for ever" : `${wholeCount(count)} ${count === 1 ? "day" : "days"}`;
const written = (count: number | null): string => (count === null ? "forever" : String(count));

export function Retention({ gateway: { retention } }: { readonly gateway: Gateway }) {
  const text = [
    "calls:",
    `  keep_days: ${written(retention.calls_days)}`,
    `  keep_details_days: ${written(retention.call_details_days)}`,
    "audit:",
    `  keep_days: ${written(retention.audit_days)}`,
    `  keep_refused_days: ${written(retention.audit_refused_days)}`,
    "content_log:",
    `  allowed: ${String(retention.content_allowed)}`,
    "",
  ].join("\n");
  return (
    <Panel title="How long records are kept">
      <p className="hint">
        These hold for all tenants, and are changed in the configuration file. Sums of usage are always kept.
      </p>
      <SettingList
        settings={[
          { name: "Calls", value: days(retention.calls_days), place: "calls.keep_days" },
          { name: "Details of calls", value: days(retention.call_details_days), place: "calls.keep_details_days" },
          { name: "Audit log", value: days(retention.audit_days), place: "audit.keep_days" },
          {
            name: "Refused attempts in it",
            value: days(retention.audit_refused_days),
            place: "audit.keep_refused_days",
          },
          {
            name: "Prompts and answers",
            value: retention.content_allowed ? "tenants may keep them" : "are not kept, whatever tenants set",
            place: "content_log.allowed",
          },
        ]}
      />
      <p className="actions">
        <CopyButton label="Copy for the file" text={text} />
      </p>
    </Panel>
  );
}
