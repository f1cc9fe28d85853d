import { createHash } from 'node:crypto'

const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { max-width: 26rem; margin: 10vh auto; padding: 0 1rem }
p.warning { border: 2px dashed; padding: .75rem 1rem }
label { display: block; font-weight: 600; margin-bottom: .25rem }
input, button { font: inherit; width: 100%; box-sizing: border-box; padding: .6rem .75rem }
button { margin-top: .75rem; cursor: pointer }
button.no { background: none; border: 0; text-decoration: underline }
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

export interface LoginPage {
  readonly label: string
  /** The form's action. */
  readonly action: string
  /** The origin that the browser is redirected to after the form. */
  readonly returnOrigin: string
}

/** The login page of a development provider, which accepts any name. */
export function loginPage({ label, action }: LoginPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(label)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(label)}</h1>
<p class="warning">For development only. Nothing is checked here: any name makes you that person.</p>
<form method="post" action="${escapeHtml(action)}">
<label for="name">Who are you?</label>
<input id="name" name="name" required maxlength="64" autocomplete="off" autofocus>
<button type="submit">Continue as this person</button>
</form>
<form method="post" action="${escapeHtml(action)}">
<button class="no" type="submit" name="cancel" value="yes">Cancel</button>
</form>
</main>
</body>
</html>
`
}

/** Headers of the login page. `form-action` also covers redirects after a form, so it allows the service's origin. */
export function loginPageHeaders({ returnOrigin }: LoginPage): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self' ${returnOrigin}; frame-ancestors 'none'; base-uri 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  }
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
