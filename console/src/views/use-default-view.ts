// A screen whose address says nothing begins with the reader's default view, otherwise with that of the project.
import { useEffect, useRef } from "react";
import { useLocation, useSearch } from "wouter";
import { useScope } from "../scope/scope-context.tsx";
import { useMe } from "../session/session.tsx";

export function useDefaultView(screen: string): void {
  const { project } = useScope();
  const { default_views: views } = useMe();
  const search = useSearch();
  const [place, navigate] = useLocation();
  const isFirst = useRef(true);
  const ofScreen = views.filter((view) => view.screen === screen);
  const view =
    ofScreen.find(({ project_id: of }) => of === null) ??
    (project === null ? undefined : ofScreen.find(({ project_id: of }) => of === project));
  useEffect(() => {
    // a filter that is removed later stays removed
    if (isFirst.current && search === "" && view !== undefined && view.query !== "")
      navigate(`${place}?${view.query}`, { replace: true });
    isFirst.current = false;
  }, [search, view, place, navigate]);
}
