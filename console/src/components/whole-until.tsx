// Says where a report could not divide hours or days, because the calls themselves are not kept any more.
import { TimeText } from "./time-text.tsx";

interface WholeUntilProps {
  /** Null where all is exact. */
  readonly at: string | null;
  /** Of end users there are sums of days only. */
  readonly isByEndUser?: boolean;
}

export function WholeUntil({ at, isByEndUser = false }: WholeUntilProps) {
  if (at === null) return null;
  return (
    <>
      {" "}
      Before <TimeText at={at} form="day" />,{" "}
      {isByEndUser
        ? "calls of end users are kept as sums of days in UTC, so days at the edges count as a whole."
        : "calls are kept as hourly sums, so hours at the edges count as a whole."}
    </>
  );
}
