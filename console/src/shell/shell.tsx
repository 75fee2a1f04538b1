// The frame of every page: scope, menu, search, account, and the screen of the path.
import { useCallback, useEffect, useId, useMemo, useRef, useState } from "react";
import { Redirect, useLocation } from "wouter";
import { Empty } from "../components/empty.tsx";
import { Logo } from "../components/logo.tsx";
import { type Binding, useKeys } from "../keyboard/keys.tsx";
import { KeyCaps } from "../keyboard/key-caps.tsx";
import { ScopeContext, ScopedLink } from "../scope/scope-context.tsx";
import { decoded, pathIn, placeOf, type Scope, titleOf } from "../scope/scope.ts";
import { DETAILS, GROUPS, type Screen, SCREENS } from "../screens/screens.tsx";
import { hasRole, homeScope, may, type Me } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import { AccountMenu } from "./account-menu.tsx";
import { OfflineBanner } from "./offline-banner.tsx";
import { Palette } from "./palette.tsx";
import { ScopeMenu } from "./scope-menu.tsx";
import { ShortcutSheet } from "./shortcut-sheet.tsx";
import { usePaste } from "./use-paste.ts";

export function Shell() {
  const me = useMe();
  const [location] = useLocation();
  const place = placeOf(location);
  const trace = /^\/t\/([0-9a-f]{32})\/?$/.exec(location)?.[1];
  if (trace !== undefined) return <Redirect to={pathIn(homeScope(me), `/calls/${trace}`)} replace />;
  if (place === null) return <Redirect to={pathIn(homeScope(me), SCREENS[0]!.path)} replace />;
  if (place.path === "/" && !SCREENS.some(({ path }) => path === "/"))
    return <Redirect to={pathIn(place.scope, SCREENS[0]!.path)} replace />;
  return <Frame scope={place.scope} path={place.path} />;
}

function Frame({ scope, path }: { readonly scope: Scope; readonly path: string }) {
  const [layer, setLayer] = useState<"palette" | "shortcuts" | null>(null);
  const { tenant, project } = scope;
  const stable = useMemo<Scope>(() => ({ tenant, project }), [tenant, project]);
  const screen = screenOf(path);
  const [pasted, setPasted] = useState("");
  useGlobalKeys(stable, setLayer);
  const search = useCallback((text: string): void => {
    setPasted(text);
    setLayer("palette");
  }, []);
  usePaste(stable, search);
  const close = (): void => {
    setLayer(null);
    setPasted("");
  };
  return (
    <ScopeContext value={stable}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <div className="shell">
        <header className="top">
          <ScopedLink to={SCREENS[0]!.path} className="brand" aria-label="Dragoman, first page">
            <Logo />
          </ScopedLink>
          <ScopeMenu />
          <button type="button" className="search-button" onClick={() => setLayer("palette")}>
            <span>
              Search<small> or paste an id</small>
            </span>
            <KeyCaps keys="mod+k" />
          </button>
          <AccountMenu showShortcuts={() => setLayer("shortcuts")} />
        </header>
        <Navigation path={path} />
        <main id="main" tabIndex={-1}>
          <OfflineBanner />
          <Content screen={screen} path={path} scope={stable} />
        </main>
      </div>
      {layer === "palette" && <Palette pasted={pasted} close={close} />}
      {layer === "shortcuts" && <ShortcutSheet close={close} />}
    </ScopeContext>
  );
}

const MOST_PLACES = 12;

function screenOf(path: string): Screen | undefined {
  return (
    SCREENS.find((screen) => screen.path === path) ??
    SCREENS.find((screen) => screen.path !== "/" && path.startsWith(`${screen.path}/`))
  );
}

function Content({
  screen,
  path,
  scope,
}: {
  readonly screen: Screen | undefined;
  readonly path: string;
  readonly scope: Scope;
}) {
  const me = useMe();
  useEffect(() => {
    document.title = `${screen?.title ?? "Not found"} · ${titleOf(scope)} · Dragoman`;
  }, [screen, scope]);
  if (screen === undefined) return <Unknown path={path} />;
  if (!mayOpen(me, scope, screen)) return <NotAllowed screen={screen} scope={scope} />;
  const id = path.slice(screen.path.length + 1);
  const Detail = id === "" ? undefined : DETAILS[screen.path];
  const place = `${scope.tenant}/${scope.project}`;
  if (id === "") return <screen.component key={place} />;
  return Detail === undefined ? <Unknown path={path} /> : <Detail id={decoded(id)} key={`${place}/${id}`} />;
}

/** What judges by itself needs at least a role in the project. */
function mayOpen(me: Me, scope: Scope, { needs }: Screen): boolean {
  return needs === null ? scope.project === null || hasRole(me, scope) : may(me, scope, needs);
}

/** In all tenants at once there is nothing to show of what belongs to one tenant, whatever the reader may do. */
function NotAllowed({ screen, scope }: { readonly screen: Screen; readonly scope: Scope }) {
  const me = useMe();
  const places = me.places.filter(({ tenant_id: tenant, project_id: project }) =>
    mayOpen(me, { tenant, project }, screen),
  );
  const title =
    scope.tenant === null && me.operator
      ? `“${screen.title}” is about one tenant or one project`
      : `You may not see “${screen.title}” in ${titleOf(scope)}`;
  return (
    <>
      <h1>{screen.title}</h1>
      <Empty title={title}>
        {places.length === 0 && (
          <p>Someone with the role admin or owner in this tenant can give you a role that allows it.</p>
        )}
        {places.length > 0 && (
          <>
            <p>You can see it in:</p>
            <ul>
              {places.slice(0, MOST_PLACES).map(({ tenant_id: tenant, project_id: project, name }) => (
                <li key={`${tenant}/${project}`}>
                  <ScopedLink scope={{ tenant, project }} to={screen.path}>
                    {project === null ? `tenant ${name}` : `project ${name} of ${tenant}`}
                  </ScopedLink>
                </li>
              ))}
            </ul>
          </>
        )}
      </Empty>
    </>
  );
}

function Unknown({ path }: { readonly path: string }) {
  return (
    <Empty title="There is no such page">
      <p>
        The console has no page <code>{path}</code>. The menu shows those that it has.
      </p>
    </Empty>
  );
}

function Navigation({ path }: { readonly path: string }) {
  const current = screenOf(path);
  const id = useId();
  const menu = useRef<HTMLElement>(null);
  useEffect(() => {
    // in a narrow window the menu is one line, of which a part is seen
    const { scrollWidth, clientWidth } = menu.current!;
    if (current === undefined || scrollWidth <= clientWidth) return;
    const link = menu.current!.querySelector<HTMLElement>("[aria-current]")!;
    menu.current!.scrollLeft = link.offsetLeft - (clientWidth - link.offsetWidth) / 2;
  }, [current]);
  return (
    <nav aria-label="Screens" className="screens-nav" ref={menu}>
      <ul>
        {GROUPS.map((group) => (
          <li key={group}>
            <span id={`${id}-${group}`}>{group}</span>
            <ul aria-labelledby={`${id}-${group}`}>
              {SCREENS.filter((screen) => screen.group === group).map((screen) => (
                <li key={screen.path}>
                  <ScopedLink
                    to={screen.path}
                    aria-current={screen === current ? "page" : undefined}
                    title={`g ${screen.letter}`}
                  >
                    {screen.title}
                  </ScopedLink>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function useGlobalKeys(scope: Scope, show: (layer: "palette" | "shortcuts") => void): void {
  const me = useMe();
  const [, navigate] = useLocation();
  const mayMakeToken = may(me, scope, "create*Token");
  const bindings = useMemo<readonly Binding[]>(
    () => [
      { keys: "mod+k", label: "Search, or go to a pasted id", run: () => show("palette") },
      { keys: "?", label: "Show all shortcuts", run: () => show("shortcuts") },
      ...(mayMakeToken
        ? [{ keys: "T", label: "Make a token", run: () => navigate(pathIn(scope, "/tokens?new=1")) }]
        : []),
      ...SCREENS.map(({ letter, title, path }) => ({
        keys: `g ${letter}`,
        label: `Go to ${title}`,
        run: () => navigate(pathIn(scope, path)),
      })),
    ],
    [scope, navigate, show, mayMakeToken],
  );
  useKeys(bindings);
}
