// What stands in place of something that is read for the first time. It appears late, so that nothing flashes where the answer comes soon.
export function Pending({ what, lines = 3 }: { readonly what: string; readonly lines?: number | undefined }) {
  return (
    <div className="pending" role="status">
      <span className="unseen">{what} is being read.</span>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="pending-line" />
      ))}
    </div>
  );
}
