// What can be done with a call: send it again in the playground, take it along as code or as a test, and go to its neighbours in the list.
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { CallDetail } from "../../api/types.ts";
import { AsCode } from "../../components/as-code.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Menu } from "../../components/controls/menu.tsx";
import { gatewayAddress } from "../../console-path.ts";
import { visibleText } from "../../format/visible-text.ts";
import { adminPath, pathIn } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { fragmentOf } from "../play/share.ts";
import type { RemadeRequest } from "./call-request.ts";
import { gatewayCurl, pythonCode, typescriptCode } from "./request-code.ts";

interface CallActionsProps {
  readonly call: CallDetail;
  readonly request: RemadeRequest | null;
}

export function CallActions({ call, request }: CallActionsProps) {
  const scope = useScope();
  const own = call.tenant_id === null ? scope : { tenant: call.tenant_id, project: call.project_id };
  return (
    <p className="actions">
      {request !== null && (
        <>
          <Link
            className="button"
            href={`${pathIn({ tenant: call.tenant_id, project: call.project_id }, "/play")}?replay=${call.trace_id}${fragmentOf(JSON.stringify(request.body, null, 2))}`}
          >
            Replay in the playground
          </Link>
          <Menu label="Copy as">
            {() => (
              <Copies request={request}>
                <CopyButton label="Test fixture" text={fixtureOf(call, request)} />
              </Copies>
            )}
          </Menu>
        </>
      )}
      <AsCode path={adminPath(own, `/calls/${call.trace_id}`)} />
    </p>
  );
}

function Copies({
  request: { body, lacks },
  children,
}: {
  readonly request: RemadeRequest;
  readonly children: ReactNode;
}) {
  const address = gatewayAddress();
  return (
    <div className="copies">
      <CopyButton label="curl" text={gatewayCurl(body, address)} />
      <CopyButton label="Python" text={pythonCode(body, address)} />
      <CopyButton label="TypeScript" text={typescriptCode(body, address)} />
      {children}
      {lacks.map((lack) => (
        <p key={lack} className="hint">
          {visibleText(lack)}
        </p>
      ))}
    </div>
  );
}

/** The request with what became of it, for a test that compares. */
function fixtureOf(
  { status, code, route, provider, model, finish_reason }: CallDetail,
  { body }: RemadeRequest,
): string {
  return JSON.stringify({ request: body, expected: { status, code, route, provider, model, finish_reason } }, null, 2);
}
