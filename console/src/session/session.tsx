// The session of the page: who is signed in, the request for a sign-in in place when the session ends, and signing out.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from "react";
import { ApiError, createApi, send, type SignInCause } from "../api/api.ts";
import { ApiContext } from "../api/use-api.tsx";
import { ClockContext, clockOffset } from "../clock.ts";
import { Modal } from "../components/modal.tsx";
import { Problem } from "../components/problem.tsx";
import { Starting } from "../shell/starting.tsx";
import { LoginInPlace, LoginPage } from "./login.tsx";
import { isSignedIn, type Me, readerOf, type Visitor, withVisibleNames } from "./me.ts";

interface Session {
  readonly me: Me;
  readonly signOut: () => Promise<void>;
}

const SessionContext = createContext<Session | null>(null);

export function useMe(): Me {
  return useContext(SessionContext)!.me;
}

export function useSignOut(): () => Promise<void> {
  return useContext(SessionContext)!.signOut;
}

/** Shows its children to a reader who is signed in, and else the page that signs in. The address of the page stays. */
export function SessionGate({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState<SignInCause | null>(null);
  const waiting = useRef<PromiseWithResolvers<void> | null>(null);
  const {
    data: me,
    dataUpdatedAt: receivedMs,
    error,
    refetch,
  } = useQuery<Me | Visitor, ApiError>({
    queryKey: ["me"],
    queryFn: ({ signal }) => send<Me | Visitor>("GET", "/me", { signal }),
    staleTime: Infinity,
    select: withVisibleNames,
  });
  const signIn = useCallback(async (cause: SignInCause) => {
    // Requests that fail together wait for the same sign-in.
    waiting.current ??= Promise.withResolvers<void>();
    setAsking(cause);
    await waiting.current.promise;
  }, []);
  const api = useMemo(
    () => createApi(signIn, () => queries.getQueryData<Me | Visitor>(["me"])?.session?.id),
    [signIn, queries],
  );
  /** Nothing that one reader was shown is left for another. */
  const forget = useCallback(() => {
    queries.removeQueries({ predicate: ({ queryKey: [kind] }) => kind !== "me" });
    queries.getMutationCache().clear();
  }, [queries]);
  const session = useMemo(
    () =>
      me === undefined || !isSignedIn(me)
        ? null
        : {
            me,
            async signOut() {
              await send("DELETE", "/session", { session: me.session.id }).catch((thrown: unknown) => {
                // a session that has ended is what was asked for
                if (!(thrown instanceof ApiError) || thrown.status !== 401) throw thrown;
              });
              queries.setQueryData(["me"], { session: null, logins: me.logins });
              forget();
            },
          },
    [me, queries, forget],
  );
  if (error !== null && me === undefined)
    return (
      <main className="lone">
        <Problem what="The console could not ask who is signed in." error={error} retry={() => void refetch()} />
      </main>
    );
  if (me === undefined) return <Starting />;
  if (session === null) return <LoginPage logins={me.logins} signedIn={(next) => queries.setQueryData(["me"], next)} />;
  const signedInAgain = (next: Me): void => {
    queries.setQueryData(["me"], next);
    setAsking(null);
    if (readerOf(next) !== readerOf(session.me)) forget();
    // what was typed stays for somebody of the same tenant, who may be the same person with another login
    if (next.tenant_id === session.me.tenant_id) waiting.current?.resolve();
    else waiting.current?.reject(new Error("Somebody of another tenant has signed in, so nothing was changed."));
    waiting.current = null;
  };
  const giveUp = (): void => {
    setAsking(null);
    waiting.current?.reject(new Error("You have not signed in again, so nothing was changed."));
    waiting.current = null;
  };
  return (
    <ApiContext value={api}>
      <SessionContext value={session}>
        <ClockContext key={session.me.tenant_id} value={clockOffset(session.me.now, receivedMs)}>
          {children}
        </ClockContext>
        {asking !== null && (
          <Modal
            title={asking === "ended" ? "Your session has ended" : "Sign in again to do this"}
            close={asking === "recent" ? giveUp : undefined}
          >
            <p>
              {asking === "ended"
                ? "Sign in again, and the page goes on where it was. What you have typed is kept."
                : "What gives or takes away rights, or shows or removes what was said in calls, needs a sign-in of the last 15 minutes. What you have typed is kept."}
            </p>
            <LoginInPlace logins={session.me.logins} before={session.me} signedIn={signedInAgain} />
          </Modal>
        )}
      </SessionContext>
    </ApiContext>
  );
}
