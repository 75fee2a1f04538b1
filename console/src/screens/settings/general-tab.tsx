// What the tenant or project in scope sets for itself, as a form and as YAML, and how long the gateway keeps what.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { Gateway } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { Unread } from "../../components/unread.tsx";
import { fileText, writtenYaml } from "../../configured/yaml-text.ts";
import { type ConfiguredObject, fieldsOf } from "../../configured/noun.ts";
import { ObjectEditor } from "../../configured/object-editor.tsx";
import { TargetHistory } from "../../configured/target-history.tsx";
import { adminPath, type Scope } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { Retention } from "./retention.tsx";
import { settingsNoun } from "./settings-noun.tsx";

export function GeneralTab() {
  const scope = useScope();
  const { data: gateway, error, refetch } = useRead<Gateway>("/v1/admin/gateway");
  return (
    <div className="call-page">
      {scope.tenant === null ? (
        <Empty title="A tenant or a project has settings">
          <p>Choose one at the top. What holds for all tenants is in the configuration file.</p>
        </Empty>
      ) : (
        <ScopeSettings scope={scope} />
      )}
      {error !== null && <Problem what="The retention could not be read." error={error} retry={() => void refetch()} />}
      {gateway !== undefined && <Retention gateway={gateway} />}
    </div>
  );
}

function ScopeSettings({ scope }: { readonly scope: Scope }) {
  const me = useMe();
  const queries = useQueryClient();
  const path = adminPath(scope, "/settings");
  const mayRead = may(me, scope, "read*Settings");
  const { data: object, error, refetch } = useRead<ConfiguredObject>(mayRead ? path : null, { keepsPrevious: false });
  const version = object?.version;
  // the time zone of reports is part of what the page knows of the reader
  useEffect(() => {
    if (version !== undefined && version > 0) void queries.invalidateQueries({ queryKey: ["me"] });
  }, [version, queries]);
  const filed = (object?.["read_only_fields"] as readonly string[] | undefined)?.join(" ") ?? "";
  const noun = useMemo(
    () => settingsNoun({ isProject: scope.project !== null, filed: filed === "" ? [] : filed.split(" ") }),
    [scope.project, filed],
  );
  if (!mayRead)
    return (
      <Empty title="You may not see these settings">
        <p>Everybody with a role in the tenant or project sees them.</p>
      </Empty>
    );
  if (object === undefined) return <Unread what="The settings" lines={8} of={{ data: object, error, refetch }} />;
  return (
    <>
      {filed !== "" && <Filed object={object} names={filed.split(" ")} />}
      {!may(me, scope, "replace*Settings") && (
        <p className="banner">
          Your role here does not allow changing the settings. Someone with a higher role can do it, or give you that
          role.
        </p>
      )}
      <ObjectEditor key={object.id} noun={noun} object={{ ...object, name: "settings", origin: "store" }} path={path} />
      {object.version > 0 && may(me, scope, "list*Audit") && (
        <section>
          <h2>History</h2>
          <TargetHistory targetId={object.id} what="settings" />
        </section>
      )}
    </>
  );
}

/** What the configuration file sets, which is changed there and nowhere else. */
function Filed({ object, names }: { readonly object: ConfiguredObject; readonly names: readonly string[] }) {
  const { tenant_id: tenant, project_id: project } = object;
  const place = [...(project === null ? ["tenants", tenant!] : ["projects", project]), "settings"];
  const set = Object.fromEntries(Object.entries(fieldsOf(object)).filter(([name]) => names.includes(name)));
  return (
    <div className="banner">
      <p>
        The configuration file sets {names.join(", ")} at <code>{place.join(".")}</code>. They are shown here, and
        changed there.
      </p>
      <CopyButton label="Copy for the file" text={fileText(place, writtenYaml(set).text)} />
    </div>
  );
}
