// `/audit`: who has changed, read or tried what; whether the log is intact; and who could call what at a time in the past.
import { CONSOLE_PATH } from "../../console-path.ts";
import { AsCode } from "../../components/as-code.tsx";
import { Tabs, useTab } from "../../components/tabs.tsx";
import { adminPath } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { useUrlState } from "../../url-state.ts";
import { AccessAsOfView } from "./access-as-of.tsx";
import { pathOf } from "./audit-path.ts";
import { AuditEntries } from "./audit-entries.tsx";
import { ChainCheck } from "./chain-check.tsx";

const VIEWS = { entries: AuditEntries, "as-of": AccessAsOfView, check: ChainCheck } as const;

export function AuditScreen() {
  const me = useMe();
  const scope = useScope();
  const state = useUrlState();
  const tabs = [
    { name: "entries", label: "Entries" },
    ...(may(me, scope, "read*AuditAsOf") ? [{ name: "as-of", label: "Access at a time" }] : []),
    ...(may(me, scope, "verify*Audit") ? [{ name: "check", label: "Check" }] : []),
  ];
  const [chosen, choose] = useTab(tabs);
  const View = VIEWS[chosen as keyof typeof VIEWS];
  const range = state.only(["from", "to"]).toString();
  return (
    <>
      <div className="title-row">
        <h1>Audit</h1>
        {may(me, scope, "export*Audit") && (
          <a
            className="button"
            href={`${CONSOLE_PATH}/api${adminPath(scope, "/audit/export")}${range === "" ? "" : `?${range}`}`}
            download={`audit-${scope.tenant ?? "gateway"}.jsonl`}
          >
            Signed export
          </a>
        )}
        <AsCode path={pathOf(chosen, scope, state)} />
      </div>
      <Tabs label="About the audit log" tabs={tabs} chosen={chosen} choose={choose}>
        <View />
      </Tabs>
    </>
  );
}
