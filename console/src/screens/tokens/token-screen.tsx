// `/tokens/<id>`: one access token, with giving it a new secret and taking it away.
import { AsCode } from "../../components/as-code.tsx";
import { useState } from "react";
import type { IssuedToken, ListedToken } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { useWrite } from "../../api/use-write.ts";
import { Fact } from "../../components/facts.tsx";
import { Modal } from "../../components/modal.tsx";
import { Problem } from "../../components/problem.tsx";
import { Tabs, useTab } from "../../components/tabs.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { Unread } from "../../components/unread.tsx";
import { TargetHistory } from "../../configured/target-history.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { adminPath } from "../../scope/scope.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { callsPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { SecretOnce } from "./secret-once.tsx";
import { belongsTo, LastCall, narrowingOf, TokenState } from "./token-facts.tsx";

type Change = "rotate" | "revoke";

const TABS = [
  { name: "about", label: "About" },
  { name: "history", label: "History" },
];

export function TokenScreen({ id }: { readonly id: string }) {
  const scope = useScope();
  const [tab, choose] = useTab(TABS);
  const path = adminPath(scope, `/tokens/${encodeURIComponent(id)}`);
  const { data: token, error, refetch } = useRead<ListedToken>(path, { keepsPrevious: false });
  return (
    <div className="call-page">
      <p>
        <ScopedLink to="/tokens">Tokens</ScopedLink>
      </p>
      <div className="title-row">
        <h1>{visibleText(token?.name ?? id)}</h1>
        {token !== undefined && <TokenState state={token.state} />}
        <AsCode path={path} />
      </div>
      <Unread what="The token" of={{ data: token, error, refetch }} />
      {token !== undefined && (
        <>
          <Tabs label="About the token" tabs={TABS} chosen={tab} choose={choose}>
            {tab === "history" ? (
              <TargetHistory kind="token" targetId={token.id} what="token" />
            ) : (
              <div className="call-page">
                <section className="panel" aria-label="What it is">
                  <div className="panel-body">
                    <Facts token={token} />
                    <p>
                      <ScopedLink to={callsPath([termText("token", token.id)], { range: "30d" })}>
                        The calls of this token in the last 30 days
                      </ScopedLink>
                    </p>
                  </div>
                </section>
                {token.state !== "revoked" && <Changes token={token} path={path} />}
              </div>
            )}
          </Tabs>
        </>
      )}
    </div>
  );
}

function Facts({ token }: { readonly token: ListedToken }) {
  return (
    <dl className="pairs">
      <Fact name="Id">
        <code>{token.id}</code>
      </Fact>
      <Fact name="Belongs to">{belongsTo(token)}</Fact>
      <Fact name="May call">{narrowingOf(token)}</Fact>
      <Fact name="Permissions">{token.permissions.join(", ") || "none"}</Fact>
      <Fact name="Made">
        <TimeText at={token.created_at} form="day" /> {token.created_by !== null && `by ${token.created_by}`}
      </Fact>
      <Fact name="Last call">
        <LastCall token={token} />
      </Fact>
      <Fact name="Expires">
        <TimeText at={token.expires_at} form="day" />
      </Fact>
      {token.revoked_at !== null && (
        <Fact name="Revoked">
          <TimeText at={token.revoked_at} form="day" />
        </Fact>
      )}
    </dl>
  );
}

function Changes({ token, path }: { readonly token: ListedToken; readonly path: string }) {
  const me = useMe();
  const scope = useScope();
  const [asking, setAsking] = useState<Change | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const isAllowed = may(me, scope, "revoke*Token");
  const close = (): void => setAsking(null);
  return (
    <>
      <p className="actions">
        <button type="button" disabled={!isAllowed} onClick={() => setAsking("rotate")}>
          New secret
        </button>
        <button type="button" className="danger" disabled={!isAllowed} onClick={() => setAsking("revoke")}>
          Revoke
        </button>
      </p>
      {!isAllowed && (
        <p className="hint">
          Changing tokens needs a role that you do not have here: maintainer in the project, or admin in the tenant.
        </p>
      )}
      {asking !== null && (
        <ConfirmChange
          change={asking}
          token={token}
          path={`${path}/${asking}`}
          changed={(issued) => {
            if (asking === "rotate") setSecret(issued.token);
            close();
          }}
          close={close}
        />
      )}
      {secret !== null && <SecretOnce name={token.name} secret={secret} close={() => setSecret(null)} />}
    </>
  );
}

function ConfirmChange(props: {
  readonly change: Change;
  readonly token: ListedToken;
  readonly path: string;
  readonly changed: (token: IssuedToken) => void;
  readonly close: () => void;
}) {
  const { change, token, path, changed, close } = props;
  const { send, isBusy, failure } = useWrite();
  const confirm = async (): Promise<void> => {
    const issued = await send<IssuedToken>("POST", path);
    if (issued !== undefined) changed(issued);
  };
  return (
    <Modal title={change === "rotate" ? `Give ${token.name} a new secret?` : `Revoke ${token.name}?`} close={close}>
      <p>
        {change === "rotate"
          ? "The old secret stays valid for 24 hours, but not beyond its own expiry, so that programs can change to the new one."
          : "Calls with this token are refused within a second. This cannot be undone."}
      </p>
      {failure !== null && <Problem what="Nothing was changed." error={failure} />}
      <p className="actions">
        <button
          type="button"
          className={change === "rotate" ? "primary" : "danger"}
          disabled={isBusy}
          onClick={() => void confirm()}
        >
          {change === "rotate" ? "Make a new secret" : "Revoke the token"}
        </button>
        <button type="button" className="quiet" onClick={close}>
          Cancel
        </button>
        <AsCode method="POST" path={path} />
      </p>
    </Modal>
  );
}
