// A text that is pasted where there is no field leads to what it names: the page of a call, of a token, or the playground. Where it may name
// several things, the search asks which.
import { useEffect } from "react";
import { useLocation } from "wouter";
import { isTyping } from "../keyboard/keys.tsx";
import { pathIn, type Scope } from "../scope/scope.ts";
import { pastedPlaces, theOnePlace } from "./pasted.ts";

export function usePaste(scope: Scope, search: (text: string) => void): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    const paste = (event: ClipboardEvent): void => {
      if (isTyping(event.target) || document.querySelector("dialog:modal") !== null) return;
      const text = event.clipboardData?.getData("text/plain") ?? "";
      const places = pastedPlaces(text);
      if (places.length === 0) return;
      event.preventDefault();
      const one = theOnePlace(places);
      if (one === null) search(text);
      else navigate(pathIn(scope, one.path));
    };
    document.addEventListener("paste", paste);
    return () => document.removeEventListener("paste", paste);
  }, [scope, search, navigate]);
}
