// The frame before it is known who is signed in. The build writes it into shell.html as well, so that something is painted before the scripts have
// come.
import { Logo } from "../components/logo.tsx";
import { Pending } from "../components/pending.tsx";

export function Starting() {
  return (
    <div className="shell">
      <header className="top">
        <span className="brand">
          <Logo />
        </span>
      </header>
      <div className="screens-nav" />
      <main id="main">
        <Pending what="The console" />
      </main>
    </div>
  );
}
