// Named values, one beside or below the other.
import type { ReactNode } from "react";
import { visibleText } from "../format/visible-text.ts";

export function Fact({ name, children }: { readonly name: ReactNode; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The facts that are known; one of null or undefined is not. */
export function TextFacts({ facts }: { readonly facts: readonly (readonly [string, string | null | undefined])[] }) {
  return facts.map(
    ([name, value]) =>
      value != null && (
        <Fact key={name} name={name}>
          {visibleText(value)}
        </Fact>
      ),
  );
}
