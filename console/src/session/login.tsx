// Signing in: at a company's issuer, with a personal token that is exchanged for a session and forgotten, or with the code of a link, which
// stands in the fragment of the address, where no server sees it, and is removed from there before it is used.
import { type SubmitEvent, useEffect, useId, useRef, useState } from "react";
import { ApiError, send } from "../api/api.ts";
import { Logo } from "../components/logo.tsx";
import { Problem } from "../components/problem.tsx";
import { CONSOLE_PATH } from "../console-path.ts";
import { visibleText } from "../format/visible-text.ts";
import { isSignedIn, type Logins, type Me, readerOf, type Visitor } from "./me.ts";

interface LoginProps {
  readonly logins: Logins;
  readonly signedIn: (me: Me) => void;
}

export function LoginPage({ logins, signedIn }: LoginProps) {
  const [code] = useState(codeInAddress);
  const [failure, setFailure] = useState<Error | null>(null);
  const begun = useRef(false);
  useEffect(() => {
    document.title = "Sign in · Dragoman";
    if (code === null || begun.current) return;
    begun.current = true;
    history.replaceState(null, "", withoutLink(location.pathname) + location.search);
    exchange({ code }).then(signedIn, (error: unknown) => setFailure(error as Error));
  }, [code, signedIn]);
  return (
    <main className="lone login">
      <h1>
        <Logo /> Dragoman
      </h1>
      {code !== null && failure === null ? (
        <p role="status">The login link is being exchanged for a session.</p>
      ) : (
        <>
          {failure !== null && <Problem what="The login link could not be used." error={failure} />}
          <CompanyLogins logins={logins} to={withoutLink(location.pathname) + location.search} />
          <LoginForm signedIn={signedIn} />
        </>
      )}
    </main>
  );
}

/** `/console/login` is only the place at which a link arrives. */
function withoutLink(path: string): string {
  return /^\/(login|link)\/?$/.test(path.slice(CONSOLE_PATH.length)) ? `${CONSOLE_PATH}/` : path;
}

function codeInAddress(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("code");
}

function exchange(body: { readonly token: string } | { readonly code: string }): Promise<Me> {
  return send<Me>("POST", "/session", { body });
}

interface InPlaceProps extends LoginProps {
  readonly before: Me;
}

/** Signing in again over a page that keeps what was typed. A company's issuer is asked in another tab, because this one has to stay. */
export function LoginInPlace({ logins, before, signedIn }: InPlaceProps) {
  const { id } = before.session;
  const [other, setOther] = useState<Me | null>(null);
  const known = useRef([id]);
  useEffect(() => {
    const look = async (isAsked: boolean): Promise<void> => {
      const me = await send<Me | Visitor>("GET", "/me").catch(() => null);
      // A login always has a session of its own.
      if (me === null || !isSignedIn(me) || known.current.includes(me.session.id)) return;
      if (isAsked || readerOf(me) === readerOf(before)) return signedIn(me);
      known.current.push(me.session.id);
      setOther(me);
    };
    const looked = (): void => void look(true);
    // another tab may have signed in before this one asked for it
    void look(false);
    window.addEventListener("focus", looked);
    return () => window.removeEventListener("focus", looked);
  }, [before, signedIn]);
  const name = other === null ? "" : visibleText((other.user ?? other.token)?.name ?? "");
  return (
    <>
      {other !== null && (
        <p role="status">
          {name} has signed in in another tab.{" "}
          <button type="button" onClick={() => signedIn(other)}>
            Go on as {name}
          </button>
        </p>
      )}
      {logins.oidc.length > 0 && (
        <>
          <CompanyLogins logins={logins} to={`${CONSOLE_PATH}/`} isElsewhere />
          <p className="hint">That page opens in another tab. Come back to this one when you are signed in.</p>
        </>
      )}
      <LoginForm signedIn={signedIn} />
    </>
  );
}

interface CompanyLoginsProps {
  readonly logins: Logins;
  /** The page to which the login leads. */
  readonly to: string;
  readonly isElsewhere?: boolean;
}

function CompanyLogins({ logins, to, isElsewhere = false }: CompanyLoginsProps) {
  return logins.oidc.map(({ name, label, path }) => (
    <p key={name} className="company-login">
      <a
        className="button primary"
        href={`${path}&to=${encodeURIComponent(to)}`}
        {...(isElsewhere && { target: "_blank", rel: "noopener" })}
      >
        Sign in with {visibleText(label)}
      </a>
    </p>
  ));
}

function LoginForm({ signedIn }: Pick<LoginProps, "signedIn">) {
  const [token, setToken] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const id = useId();
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setIsBusy(true);
    setFailure(null);
    try {
      const me = await exchange({ token: token.trim() });
      setToken("");
      signedIn(me);
    } catch (error) {
      setFailure(error instanceof ApiError ? error : new Error(String(error)));
    }
    setIsBusy(false);
  };
  return (
    <form className="login-form" onSubmit={(event) => void submit(event)}>
      <label htmlFor={id}>Personal access token</label>
      <input
        id={id}
        type="password"
        autoComplete="off"
        spellCheck={false}
        required
        placeholder="dgm_ut_…"
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      <p className="hint">
        The token is exchanged for a session and then forgotten. To get one, run{" "}
        <code>dragoman token create --personal --user &lt;you&gt;</code> where the gateway runs, or ask an owner of your
        tenant.
      </p>
      {failure !== null && <Problem what="You are not signed in." error={failure} />}
      <button type="submit" className="primary" disabled={isBusy || token.trim() === ""}>
        {isBusy ? "Signing in…" : "Sign in"}
      </button>
    </form>
  );
}
