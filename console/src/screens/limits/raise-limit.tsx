// Changes the amount of a limit or budget, and nothing else of it. It is refused where somebody has changed the limit since it was read.
import { AsCode } from "../../components/as-code.tsx";
import { type SubmitEvent, useId, useState } from "react";
import type { LimitDetail } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { useWrite } from "../../api/use-write.ts";
import { Modal } from "../../components/modal.tsx";
import { Problem } from "../../components/problem.tsx";
import { Unread } from "../../components/unread.tsx";
import { operationOf } from "../../configured/configured-operations.ts";
import type { ConfiguredObject } from "../../configured/noun.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopeContext, useScope } from "../../scope/scope-context.tsx";
import { adminPath, type Scope } from "../../scope/scope.ts";
import { may, type Me } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { LIMIT_NOUNS } from "./limit-nouns.tsx";
import { amountText } from "./limit-words.ts";

export function RaiseLimit({ limit }: { readonly limit: LimitDetail }) {
  const scope = useScope();
  const me = useMe();
  const [isOpen, setIsOpen] = useState(false);
  if (!mayRaise(me, scope, limit)) return null;
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        Change the amount
      </button>
      {isOpen && <AmountDialog limit={limit} close={() => setIsOpen(false)} />}
    </>
  );
}

/** The place in which it is defined: a tenant's limit concerns its projects, and is seen in them too. */
export function ownScope({ tenant }: Scope, { project_id: project }: LimitDetail): Scope {
  return { tenant, project };
}

function mayRaise(me: Me, scope: Scope, { id, kind }: LimitDetail): boolean {
  return may(me, scope, operationOf("replace", LIMIT_NOUNS[kind])) && !id.startsWith("file.");
}

/** The same for a limit of which only the id is known. */
export function RaiseDialog({ id, close }: { readonly id: string; readonly close: () => void }) {
  const scope = useScope();
  const me = useMe();
  const path = adminPath(scope, `/limit_states/${encodeURIComponent(id)}`);
  const { data: limit, error, refetch } = useRead<LimitDetail>(path, { keepsPrevious: false });
  const own = limit === undefined ? scope : ownScope(scope, limit);
  if (limit !== undefined && mayRaise(me, own, limit))
    return (
      <ScopeContext value={own}>
        <AmountDialog limit={limit} close={close} />
      </ScopeContext>
    );
  return (
    <Modal title="Change the amount" close={close}>
      <Unread what="The limit" of={{ data: limit, error, refetch }} />
      {limit !== undefined && (
        <p>
          {visibleText(limit.name)} belongs to {own.project === null ? "the tenant" : visibleText(own.project)}. Someone
          with a higher role there can change it.
        </p>
      )}
    </Modal>
  );
}

function AmountDialog({ limit, close }: { readonly limit: LimitDetail; readonly close: () => void }) {
  const scope = useScope();
  const noun = LIMIT_NOUNS[limit.kind];
  const path = adminPath(scope, `/${noun.plural}/${encodeURIComponent(limit.id)}`);
  const { data: object, error, refetch } = useRead<ConfiguredObject>(path, { keepsPrevious: false });
  return (
    <Modal title={`Change the amount of ${visibleText(limit.name)}`} close={close}>
      <Unread what={`The ${noun.one}`} of={{ data: object, error, refetch }} />
      {object !== undefined && <AmountForm limit={limit} path={path} object={object} close={close} />}
    </Modal>
  );
}

interface AmountFormProps {
  readonly limit: LimitDetail;
  readonly path: string;
  readonly object: ConfiguredObject;
  readonly close: () => void;
}

function AmountForm({ limit, path, object, close }: AmountFormProps) {
  const id = useId();
  const { send, isBusy, failure } = useWrite();
  const field = limit.kind === "limit" ? "limit" : limit.metric === "usd" ? "usd" : "tokens";
  /** The state from which the reader set out; what others change meanwhile is a conflict. */
  const [base] = useState(object);
  const [amount, setAmount] = useState(() => textOf(base[field]));
  const used = limit.accounts[0]?.used;
  /** What is no number is sent as it is, and the gateway says so. */
  const value = field === "usd" || Number.isNaN(Number(amount)) ? amount.trim() : Number(amount);
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const saved = await send("PATCH", path, { [field]: value }, base.etag === null ? {} : { "if-match": base.etag });
    if (saved !== undefined) close();
  };
  return (
    <form className="form" onSubmit={(event) => void save(event)}>
      <label htmlFor={id}>{field === "usd" ? "US dollars" : limit.metric === "tokens" ? "Tokens" : "At most"}</label>
      <input
        id={id}
        value={amount}
        inputMode="decimal"
        autoComplete="off"
        spellCheck={false}
        // oxlint-disable-next-line jsx-a11y/no-autofocus -- the form appears when the amount was read, and is all that the dialog has
        autoFocus
        onFocus={(event) => event.target.select()}
        onChange={(event) => setAmount(event.target.value)}
      />
      <p className="hint">
        Now {amountText(limit, limit.limit)}
        {used !== undefined && `, of which ${amountText(limit, used)} are used`}. It takes effect within a second.
      </p>
      {failure !== null && <Problem what="Nothing was changed." error={failure} />}
      <p className="actions">
        <button type="submit" className="primary" disabled={isBusy || amount.trim() === ""}>
          {isBusy ? "Saving…" : "Save"}
        </button>
        <button type="button" className="quiet" onClick={close}>
          Cancel
        </button>
        <AsCode method="PATCH" path={path} body={{ [field]: value }} />
      </p>
    </form>
  );
}

const textOf = (amount: unknown): string =>
  typeof amount === "string" || typeof amount === "number" ? String(amount) : "";
