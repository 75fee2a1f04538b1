// The versions of one object: who changed what, when and why, the calls under each, and the way back to it.
import { useState } from "react";
import type { Draft, ObjectVersion, ObjectVersions } from "../api/types.ts";
import { useRead } from "../api/use-api.tsx";
import { useWrite } from "../api/use-write.ts";
import type { ShownRequest } from "../api/command-of.ts";
import { ActionsAsCode } from "../components/as-code.tsx";
import { Empty } from "../components/empty.tsx";
import { MoneyText } from "../components/money-text.tsx";
import { Problem } from "../components/problem.tsx";
import { TimeText } from "../components/time-text.tsx";
import { Unread } from "../components/unread.tsx";
import { counted, wholeCount } from "../format/count.ts";
import { visibleText } from "../format/visible-text.ts";
import { ScopedLink, useScope } from "../scope/scope-context.tsx";
import { summedPath } from "../screens/calls/calls-path.ts";
import { termText } from "../screens/calls/filter.ts";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import { useUrlState } from "../url-state.ts";
import { ChangeView } from "./change-view.tsx";
import type { Fields } from "./merge-patch.ts";
import { goingBack } from "./configured-operations.ts";
import type { ObjectProps } from "./noun.ts";
import { writtenYaml } from "./yaml-text.ts";

export function VersionList({ noun, object, path }: ObjectProps) {
  const scope = useScope();
  const me = useMe();
  const isFile = object.origin === "file";
  const { data, error, refetch } = useRead<ObjectVersions>(isFile ? null : `${path}/versions`, {
    keepsPrevious: false,
  });
  const write = useWrite();
  const state = useUrlState();
  const mayDraft = !isFile && may(me, scope, `put*${noun.operation}Draft`);
  const draft = useRead<Draft>(mayDraft ? `${path}/draft` : null, { keepsPrevious: false });
  if (isFile)
    return (
      <Empty title="The versions are with the file">
        <p>The gateway reads the configuration file and keeps no versions of it.</p>
      </Empty>
    );
  if (error !== null || data === undefined) return <Unread what="The versions" of={{ data, error, refetch }} />;
  if (data.data.length === 0) return <Empty title="No version is kept" />;
  const mayGoBack = may(me, scope, `rollBack*${noun.operation}`);
  const restoring = ({ number, change: { after } }: ObjectVersion): ShownRequest => ({
    method: "PUT",
    path: `${path}/draft`,
    body: { text: `# version ${number}\n${writtenYaml(after ?? {}).text}`, base_etag: object.etag },
  });
  const restore = async (version: ObjectVersion): Promise<void> => {
    if ((await write.ask(restoring(version))) === undefined) return;
    // the editor begins with what was read last
    await draft.refetch();
    state.set({ tab: null });
  };
  return (
    <>
      {write.failure !== null && <Problem what="Nothing was published." error={write.failure} />}
      <ol className="history">
        {data.data.map((version, index) => (
          <VersionEntry
            key={version.number}
            version={version}
            isNow={index === 0}
            callsLink={
              version.calls === null
                ? null
                : summedPath([termText("route", object.name)], {
                    from: version.at,
                    to: data.data[index - 1]?.at ?? data.as_of,
                  })
            }
            isBusy={write.isBusy}
            hasDraft={draft.data?.text != null}
            restore={
              mayDraft && draft.data !== undefined && version.change.after !== null
                ? { request: restoring(version), run: () => void restore(version) }
                : null
            }
            goBack={
              mayGoBack
                ? {
                    request: goingBack(path, version.number),
                    run: () => void write.ask(goingBack(path, version.number)),
                  }
                : null
            }
          />
        ))}
      </ol>
    </>
  );
}

interface Action {
  readonly request: ShownRequest;
  readonly run: () => void;
}

interface VersionEntryProps {
  readonly version: ObjectVersion;
  readonly isNow: boolean;
  /** Where the calls under it are listed; null where they are not counted. */
  readonly callsLink: string | null;
  readonly isBusy: boolean;
  /** Of the reader, which making another would replace. */
  readonly hasDraft: boolean;
  readonly goBack: Action | null;
  /** Makes it the reader's draft; nothing is published. */
  readonly restore: Action | null;
}

function VersionEntry({ version, isNow, callsLink, isBusy, hasDraft, goBack, restore }: VersionEntryProps) {
  const [isOpen, setIsOpen] = useState(false);
  const { number, at, actor, note, rolled_back_to: backTo, change, calls } = version;
  const who = actor.user_id ?? actor.token_id ?? "the command line";
  return (
    <li>
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary>
          <TimeText at={at} form="day" /> <b>Version {number}</b> by {visibleText(who)}
          {isNow && (
            <>
              {" "}
              <span className="badge">published now</span>
            </>
          )}
          {backTo !== null && <> back to version {backTo}</>}
          {note !== null && <> “{visibleText(note)}”</>}
          {calls !== null && (
            <small>
              {" "}
              {counted(calls.calls, "call")}, {wholeCount(calls.errors)} failed, <MoneyText usd={calls.cost_usd} />
            </small>
          )}
        </summary>
        {isOpen && callsLink !== null && (
          <p>
            <ScopedLink to={callsLink}>The calls under this version</ScopedLink>
          </p>
        )}
        {isOpen && <ChangeView before={(change.before ?? {}) as Fields} after={(change.after ?? {}) as Fields} />}
      </details>
      {!isNow && (goBack !== null || restore !== null) && (
        <p className="actions">
          {goBack !== null && (
            <button type="button" disabled={isBusy} onClick={goBack.run}>
              Go back to version {number}
            </button>
          )}
          {restore !== null && (
            <button type="button" disabled={isBusy} onClick={restore.run}>
              {hasDraft ? `Replace your draft with version ${number}` : `Edit version ${number} as a draft`}
            </button>
          )}
          <ActionsAsCode
            of={`of version ${number}`}
            actions={{
              [`Go back to version ${number}`]: goBack?.request ?? null,
              [`Make version ${number} your draft`]: restore?.request ?? null,
            }}
          />
        </p>
      )}
    </li>
  );
}
