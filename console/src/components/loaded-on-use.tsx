// A component whose code is loaded when it is first shown. React's own `lazy` needs a Suspense around it, which holds back what follows its fallback until that
// has stood for 300 ms, however soon the code was there.
import { type ComponentType, type ReactNode, useEffect, useReducer, useState } from "react";
import { Problem } from "./problem.tsx";

/** `meanwhile` stands in its place until its code is there. */
export function loadedOnUse<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  meanwhile: ReactNode,
): ComponentType<Props> {
  let Loaded: ComponentType<Props> | null = null;
  let loading: Promise<void> | null = null;
  const loadOnce = (): Promise<void> =>
    (loading ??= load().then(
      (component) => void (Loaded = component),
      (fault: unknown) => {
        loading = null;
        throw fault;
      },
    ));
  return function LoadedOnUse(props) {
    const [, show] = useReducer((times: number) => times + 1, 0);
    const [fault, setFault] = useState<Error | null>(null);
    useEffect(() => {
      let isShown = Loaded === null && fault === null;
      if (isShown)
        loadOnce().then(
          () => isShown && show(),
          (thrown: unknown) => isShown && setFault(thrown as Error),
        );
      return () => {
        isShown = false;
      };
    }, [fault]);
    if (Loaded !== null) return <Loaded {...props} />;
    if (fault === null) return meanwhile;
    return <Problem what="This part of the console could not be loaded." error={fault} retry={() => setFault(null)} />;
  };
}
