// The scope of the page and links within it.
import { type ComponentProps, createContext, useContext } from "react";
import { Link } from "wouter";
import { pathIn, type Scope } from "./scope.ts";

export const ScopeContext = createContext<Scope>({ tenant: null, project: null });

export function useScope(): Scope {
  return useContext(ScopeContext);
}

interface ScopedLinkProps extends Omit<ComponentProps<"a">, "href"> {
  /** The path below the scope, such as `/calls?q=status:429`. */
  readonly to: string;
  readonly scope?: Scope;
}

export function ScopedLink({ to, scope, ...rest }: ScopedLinkProps) {
  const here = useScope();
  return <Link href={pathIn(scope ?? here, to)} {...rest} />;
}
