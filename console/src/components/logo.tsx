// The mark of the gateway: one arrow there and one back.
export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 16 16" width="22" height="22" aria-hidden="true">
      <rect width="16" height="16" rx="4" />
      <path d="M4 6h8M9.500 3.500 12 6 9.500 8.500M12 10H4M6.500 12.500 4 10l2.500-2.500" />
    </svg>
  );
}
