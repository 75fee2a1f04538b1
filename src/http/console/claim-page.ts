// The page that a claim link opens. It needs no session and none of the console's built files: it takes the code out of the
// address, and sends it when the person asks for the token, so that a program that only follows links uses nothing up.

export const CLAIM_PATH = "/console/claim";
export const CLAIM_SCRIPT_PATH = "/console/claim.js";

export const CLAIM_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Dragoman: an access token for you</title>
<script src="claim.js" defer></script>
<main>
<h1>An access token for you</h1>
<p>Somebody has given you an access token of this gateway. It is made when you press the button, and shown once: have a
place ready where you keep it. The link works once.</p>
<p><button type="button" id="redeem">Make and show the token</button></p>
<p id="said" role="status"></p>
<p><output id="token"></output></p>
</main>
</html>
`;

export const CLAIM_SCRIPT = `const code = new URLSearchParams(location.hash.slice(1)).get("code");
history.replaceState(null, "", location.pathname);
const [button, said, token] = ["redeem", "said", "token"].map((id) => document.getElementById(id));
const say = (text) => (said.textContent = text);
if (code === null) {
  button.disabled = true;
  say("The link is incomplete, or the page was loaded again. Open the whole link that you were given.");
}
button.addEventListener("click", async () => {
  button.disabled = true;
  try {
    const response = await fetch("api/claims", {
      method: "POST",
      headers: { "content-type": "application/json", "x-gateway-console": "1" },
      body: JSON.stringify({ code }),
    });
    const body = await response.json();
    if (!response.ok) {
      button.disabled = response.status < 500 && response.status !== 429;
      return say(body.error.message);
    }
    token.textContent = body.token;
    say("This is the token " + body.name + ", valid until " + body.expires_at.slice(0, 10) + ". It is shown only now. Programs send it to " + body.base_url + " as Authorization: Bearer.");
  } catch {
    button.disabled = false;
    say("The gateway did not answer. Try again.");
  }
});
`;
